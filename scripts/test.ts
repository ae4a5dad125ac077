import { finish, type Outcome, runParts, runTests, runTool } from './suites.ts';

// The whole suite: types and style, then everything beside the code, then the product from outside.
// `npm test -- grants` runs only test files whose path contains the word.
const words = process.argv.slice(2);
const outcomes: Outcome[] = [];
if (words.length > 0) {
  outcomes.push(await runTests('tests', ['--timeout', '240000', ...words]));
} else {
  outcomes.push(
    ...(await Promise.all([
      runTool('types', ['tsc', '--noEmit', '-p', '.']),
      runTool('style', ['biome', 'check', '--error-on-warnings', '.']),
    ])),
  );
  // As folders: a bare word would also choose files of others whose names hold it.
  const inside = ['./contract', './server', './cli', './sdk/src', './console/src', './scripts'];
  // They wait for clocks, locks and programs as much as they work: one more at a time than a small machine has cores.
  outcomes.push(...(await runParts('unit and slices', 3, ['--timeout', '120000', ...inside])));
  // Some of these go over all commands or operations in one test.
  outcomes.push(...(await runParts('acceptance', 3, ['--timeout', '240000', './acceptance'])));
}
finish(outcomes);
