import { relatedFuzz } from './suites/related-fuzz.ts';

relatedFuzz({ embeds: 20_000 });
