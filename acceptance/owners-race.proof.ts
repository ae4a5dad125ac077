import { ownersRace } from './suites/owners-race.ts';

ownersRace({ killsCount: 5 });
