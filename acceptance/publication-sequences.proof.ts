import { publicationSequences } from './suites/publication-sequences.ts';

publicationSequences({ racesCount: 200, raceAppsCount: 20 });
