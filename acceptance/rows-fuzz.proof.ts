import { rowsFuzz } from './suites/rows-fuzz.ts';

rowsFuzz({ stringsCount: 20_000, bodiesCount: 4_000, specsCount: 4_000, serversCount: 4 });
