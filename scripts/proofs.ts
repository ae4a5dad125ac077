import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  finish,
  type Outcome,
  removeFolder,
  repeatFailures,
  root,
  runTests,
  testFiles,
  testFolder,
} from './run-tests.ts';
import { runWithin } from './run-within.ts';

// `npm run proofs [-- word] [-- --minutes=30]`: every `*.proof.ts` whose path contains the word. With a time limit,
// proofs that would not end in time are left out, and listed.
const { values, positionals: words } = parseArgs({
  options: { minutes: { type: 'string' } },
  allowPositionals: true,
});
const files = testFiles('proof').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
const timings = JSON.parse(readFileSync(join(root, 'scripts', 'test-timings.json'), 'utf8')).files;
const folder = testFolder();
const options = { processes: 1, testMsMax: 30 * 60_000, folder };
const started = performance.now();
const { results, leftOut } = await runWithin(
  inChangingOrder(files),
  (file) => runTests(file, [file], options),
  {
    lanes: 3,
    ms: values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes) * 60_000,
    expectedMs: (file) => timings[file.slice(2)] ?? 60_000,
  },
);
const outcome = await repeatFailures(summary(results), files, options);
await removeFolder(folder);
for (const file of leftOut) console.log(`left out, because there was no time: ${file}`);
finish([outcome]);

/** A different order for each commit: where time is short, each proof has its turn. */
function inChangingOrder(files: readonly string[]): string[] {
  const commit = Bun.spawnSync(['git', 'rev-parse', 'HEAD'], { cwd: root }).stdout.toString();
  const rank = (file: string) => Bun.hash(commit + file);
  return files.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function summary(runs: readonly Outcome[]): Outcome {
  const outcomes = runs.map((run) => (run.exitCode !== 0 && run.failed === 0 ? crashed(run) : run));
  const sum = (key: 'passed' | 'failed' | 'skipped') =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  return {
    name: 'proofs',
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    exitCode: outcomes.find(({ exitCode }) => exitCode !== 0)?.exitCode ?? 0,
    seconds: Math.round((performance.now() - started) / 1000),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}

function crashed(run: Outcome): Outcome {
  const failure = {
    file: run.name,
    name: `${run.name} > (the process)`,
    text: `It ended with ${run.exitCode}.`,
  };
  return { ...run, failed: 1, failures: [failure] };
}
