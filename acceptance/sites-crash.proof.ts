import { sitesCrash } from './suites/sites-crash.ts';

sitesCrash({ killsPerPhase: 3 });
