import { consolePagesSuite } from './suites/console-pages.ts';

consolePagesSuite({ oneOf: 24 });
