import { relatedFuzz } from './suites/related-fuzz.ts';

relatedFuzz({ embeds: 30_000 });
