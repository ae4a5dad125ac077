import { rowsMixup } from './suites/rows-mixup.ts';

rowsMixup({ requestsCount: 15_000 });
