import { rowsFuzz } from './suites/rows-fuzz.ts';

rowsFuzz({ stringsCount: 600, bodiesCount: 200, specsCount: 100, serversCount: 1 });
