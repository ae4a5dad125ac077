import { rowsFuzz } from './suites/rows-fuzz.ts';

rowsFuzz({ stringsCount: 50_000, bodiesCount: 10_000, specsCount: 10_000, serversCount: 10 });
