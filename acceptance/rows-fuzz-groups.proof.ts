import { relatedFuzz } from './suites/related-fuzz.ts';

relatedFuzz({ groups: 25_000, searches: 14_000 });
