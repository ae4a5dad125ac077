import { rowsCrash } from './suites/rows-crash.ts';

rowsCrash({ killsCount: 6, rounds: 30, readsPerRound: 2 });
