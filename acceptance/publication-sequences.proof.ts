import { publicationSequences } from './suites/publication-sequences.ts';

publicationSequences({ racesCount: 100, raceAppsCount: 10 });
