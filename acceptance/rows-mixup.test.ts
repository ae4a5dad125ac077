import { rowsMixup } from './suites/rows-mixup.ts';

rowsMixup({ requestsCount: 1_000 });
