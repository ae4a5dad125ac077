import { sitePathsFuzz } from './suites/site-paths-fuzz.ts';

sitePathsFuzz({ pathsCount: 20_000 });
