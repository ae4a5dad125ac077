import { parseArgs } from 'node:util';
import { finish, runLinters, runTestsPatiently, testFiles } from './run-tests.ts';

// `npm test [-- word] [-- --minutes=40]`: types, style and every `*.test.ts` whose path contains the word. After the
// time limit the tests are stopped, and the run has failed.
const { values, positionals: words } = parseArgs({
  options: { minutes: { type: 'string', default: 'Infinity' } },
  allowPositionals: true,
});
const files = testFiles('test').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
const endMs = performance.now() + Number(values.minutes) * 60_000;
const options = { processes: 4, testMsMax: 240_000, endMs };
const [linters, tests] = await Promise.all([
  words.length === 0 ? runLinters() : [],
  runTestsPatiently('tests', files, options),
]);
finish([...linters, tests]);
