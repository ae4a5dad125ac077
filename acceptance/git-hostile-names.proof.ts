import { gitHostileNames } from './suites/git-hostile-names.ts';

// Each value at five of the doors: 2,500 in all.
gitHostileNames({
  count: 500,
  valuesEach: 40,
  doorsEach: 5,
  foldersCount: 10,
  bootstrapsCount: 3,
  commandsCount: 15,
});
