import { rowsLimit } from './suites/rows-limit.ts';

rowsLimit({ batchesAtOnce: 20 });
