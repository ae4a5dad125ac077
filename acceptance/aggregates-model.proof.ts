import { aggregatesModel } from './suites/aggregates-model.ts';

aggregatesModel({ requests: 5_000, rows: 300 });
