import { finish, runTestsPatiently, testFiles } from './run-tests.ts';

// `npm run proofs [-- word]`: every `*.proof.ts` whose path contains the word.
const words = process.argv.slice(2);
const files = testFiles('proof').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
finish([await runTestsPatiently('proofs', files, { processes: 3, testMsMax: 30 * 60_000 })]);
