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
  options: { minutes: { type: 'string', default: 'Infinity' } },
  allowPositionals: true,
});
/** How long a proof may exceed the limit, which is about when proofs start. */
const overtimeMs = 5 * 60_000;
/** Time for failed proofs to run once more, alone. */
const repeatMs = 15 * 60_000;

const files = testFiles('proof').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
const timings = JSON.parse(readFileSync(join(root, 'scripts', 'test-timings.json'), 'utf8')).files;
const expectedMs = (file: string): number => timings[file.slice(2)] ?? 60_000;
const folder = testFolder();
const options = { processes: 1, testMsMax: 30 * 60_000, folder };
const started = performance.now();
const limitMs = Number(values.minutes) * 60_000;
const endMs = started + limitMs + overtimeMs;
const { results, leftOut } = await runWithin(
  groups(inChangingOrder(files)),
  async (group) => ({ group, outcome: await runTests(group.join(', '), group, { ...options, endMs }) }),
  { lanes: 3, ms: limitMs, expectedMs: totalMs },
);
const stopped = results.filter(({ outcome }) => outcome.isStopped && outcome.failures.length === 0);
const ended = results.filter((result) => !stopped.includes(result)).map(({ outcome }) => outcome);
const outcome = await repeatFailures(summary(ended), files, { ...options, endMs: endMs + repeatMs });
await removeFolder(folder);
for (const file of [...leftOut, ...stopped.map(({ group }) => group)].flat())
  console.log(`left out, because there was no time: ${file}`);
finish([outcome]);

function totalMs(group: readonly string[]): number {
  return group.reduce((sum, file) => sum + expectedMs(file), 0);
}

/** Short proofs share a process, because its servers take seconds to start. */
function groups(files: readonly string[]): string[][] {
  const groupMsMax = 100_000;
  const found: string[][] = [];
  for (const file of files) {
    const last = found.at(-1);
    if (last && totalMs([...last, file]) <= groupMsMax) last.push(file);
    else found.push([file]);
  }
  return found;
}

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

/** Each file of the process is run once more. */
function crashed(run: Outcome): Outcome {
  const failures = run.name.split(', ').map((file) => ({
    file,
    name: `${file} > (the process)`,
    text: `It ended with ${run.exitCode}.`,
  }));
  return { ...run, failed: failures.length, failures };
}
