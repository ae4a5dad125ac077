import { gitHostileNames } from './suites/git-hostile-names.ts';

gitHostileNames({
  count: 400,
  valuesEach: 20,
  doorsEach: 99,
  foldersCount: 20,
  bootstrapsCount: 3,
  commandsCount: 15,
});
