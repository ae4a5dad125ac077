import { relatedFuzz } from './suites/related-fuzz.ts';

relatedFuzz({ groups: 18_000, searches: 12_000 });
