import { relatedLeaks } from './suites/related-leaks.ts';

relatedLeaks({ attempts: 2_000 });
