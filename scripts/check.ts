import { finish, runLinters, runTests, testFiles } from './run-tests.ts';

// `npm run check`: types, style, and the tests that need no database and no other process. Tests that do are named
// `*.slice.test.ts`.
const files = testFiles('test', '{contract,server,cli,sdk,console,scripts,bench}').filter(
  (path) => !/\.slice\.test\.tsx?$/.test(path),
);
const [linters, tests] = await Promise.all([
  runLinters(),
  runTests('unit', files, { processes: 4, testMsMax: 60_000 }),
]);
finish([...linters, tests]);
