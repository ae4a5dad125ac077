import { relatedLeaks } from './suites/related-leaks.ts';

relatedLeaks({ attempts: 4_000 });
