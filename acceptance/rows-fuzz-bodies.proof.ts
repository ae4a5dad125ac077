import { rowsFuzz } from './suites/rows-fuzz.ts';

rowsFuzz({ stringsCount: 1_000, bodiesCount: 4_000, specsCount: 4_000, serversCount: 4 });
