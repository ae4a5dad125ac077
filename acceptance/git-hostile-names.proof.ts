import { gitHostileNames } from './suites/git-hostile-names.ts';

gitHostileNames({
  count: 800,
  valuesEach: 20,
  doorsEach: 99,
  foldersCount: 20,
  bootstrapsCount: 6,
  commandsCount: 30,
});
