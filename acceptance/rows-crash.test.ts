import { rowsCrash } from './suites/rows-crash.ts';

rowsCrash({ killsCount: 1, rounds: 6, readsPerRound: 1 });
