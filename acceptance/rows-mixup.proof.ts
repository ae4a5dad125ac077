import { rowsMixup } from './suites/rows-mixup.ts';

rowsMixup({ requestsCount: 30_000 });
