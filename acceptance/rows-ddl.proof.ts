import { rowsDdl } from './suites/rows-ddl.ts';

rowsDdl({ roundsCount: 20 });
