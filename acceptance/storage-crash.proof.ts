import { storageCrash } from './suites/storage-crash.ts';

storageCrash({ killsCount: 6 });
