import { rowsFuzz } from './suites/rows-fuzz.ts';

rowsFuzz({ stringsCount: 25_000, bodiesCount: 0, specsCount: 0, serversCount: 1 });
