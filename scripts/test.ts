import { finish, type Outcome, runParts, runTests, runTool } from './suites.ts';

// The whole suite: types and style, then everything beside the code together with the product from outside.
// `npm test -- grants` runs only test files whose path contains the word.
const words = process.argv.slice(2);
const outcomes: Outcome[] = [];
if (words.length > 0) {
  outcomes.push(await runTests('tests', ['--timeout', '60000', ...words]));
} else {
  outcomes.push(await runTool('types', ['tsc', '--noEmit', '-p', '.']));
  outcomes.push(await runTool('style', ['biome', 'check', '--error-on-warnings', '.']));
  // These wait for programs, clocks and locks as much as they work: more at a time than a small machine has cores.
  const acceptance = runParts('acceptance', 3, ['--timeout', '60000', './acceptance']);
  // As folders: a bare word would also choose files of others whose names hold it.
  const inside = ['./contract', './server', './cli', './sdk/src', './scripts'];
  const unit = runTests('unit and slices', ['--timeout', '60000', ...inside], acceptance);
  outcomes.push(await unit, ...(await acceptance));
}
finish(outcomes);
