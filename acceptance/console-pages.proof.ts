import { consolePagesSuite } from './suites/console-pages.ts';

consolePagesSuite();
