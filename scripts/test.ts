import { finish, type Outcome, runTests, runTool } from './suites.ts';

// The whole suite: types and style, then everything beside the code, then the product from outside.
// `npm test -- grants` runs only test files whose path contains the word.
const words = process.argv.slice(2);
const outcomes: Outcome[] = [];
if (words.length > 0) {
  outcomes.push(await runTests('tests', ['--timeout', '60000', ...words]));
} else {
  outcomes.push(await runTool('types', ['tsc', '--noEmit', '-p', '.']));
  outcomes.push(await runTool('style', ['biome', 'check', '--error-on-warnings', '.']));
  outcomes.push(
    await runTests('unit and slices', [
      '--timeout',
      '60000',
      'contract',
      'server',
      'cli',
      'sdk/src',
      'scripts',
    ]),
  );
  outcomes.push(await runTests('acceptance', ['--timeout', '60000', 'acceptance']));
}
finish(outcomes);
