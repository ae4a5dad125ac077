import { finish, runLinters, runTestsPatiently, testFiles } from './run-tests.ts';

// `npm test [-- word]`: types, style and every `*.test.ts` whose path contains the word.
const args = process.argv.slice(2).filter((word) => word.startsWith('--'));
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const files = testFiles('test').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
const options = { processes: 4, testMsMax: 240_000, args };
const [linters, tests] = await Promise.all([
  words.length === 0 ? runLinters() : [],
  runTestsPatiently('tests', files, options),
]);
finish([...linters, tests]);
