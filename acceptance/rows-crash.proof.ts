import { rowsCrash } from './suites/rows-crash.ts';

rowsCrash({ killsCount: 12, rounds: 60, readsPerRound: 2 });
