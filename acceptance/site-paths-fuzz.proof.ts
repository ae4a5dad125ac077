import { sitePathsFuzz } from './suites/site-paths-fuzz.ts';

sitePathsFuzz({ pathsCount: 40_000 });
