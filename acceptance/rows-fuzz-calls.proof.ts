import { relatedFuzz } from './suites/related-fuzz.ts';

relatedFuzz({ embeds: 5_000, calls: 6_000 });
