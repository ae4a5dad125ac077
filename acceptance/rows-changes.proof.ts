import { rowsChangesCrash } from './suites/rows-changes-crash.ts';

rowsChangesCrash({ writersCount: 8, kills: 3, writesPerKill: 200 });
