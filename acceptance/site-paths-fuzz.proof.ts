import { sitePathsFuzz } from './suites/site-paths-fuzz.ts';

sitePathsFuzz({ pathsCount: 50_000 });
