import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMachineIdle } from './idle.ts';
import { inTime, proofGroups } from './proof-groups.ts';
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

// `npm run proofs [-- word] [-- --minutes=30] [-- --record]`: every `*.proof.ts` whose path contains the word. With a
// time limit, proofs that would not end in time are left out, and listed. `--record` stores how long each one took.
const { values, positionals: words } = parseArgs({
  options: { minutes: { type: 'string', default: 'Infinity' }, record: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** How long a proof may exceed the limit, which is about when proofs start. */
const overtimeMs = 5 * 60_000;
/** Time for failed proofs to run once more, alone. */
const repeatMs = 15 * 60_000;

const files = testFiles('proof').filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
const timingsPath = join(root, 'scripts', 'test-timings.json');
const readTimings = (path: string) =>
  JSON.parse(readFileSync(path, 'utf8')) as { version: number; files: Record<string, number> };
const timings = readTimings(timingsPath);
const expectedMs = (file: string): number => timings.files[file.slice(2)] ?? 60_000;
const groupMs = (group: readonly string[]) => group.reduce((sum, file) => sum + expectedMs(file), 0);
// Half of the time of a proof is waiting.
const lanes = 2 * availableParallelism();
const limitMs = Number(values.minutes) * 60_000;
const { first, later } = inTime(inChangingOrder(files), expectedMs, lanes * limitMs);
const groups = [first, later].flatMap((some) => proofGroups(some, expectedMs, lanes));
// The hundreds of servers that they start load faster from a bundle (decision 117).
Bun.spawnSync([process.execPath, '--no-env-file', join('scripts', 'bundle.ts')], {
  cwd: root,
  stderr: 'inherit',
});
const folder = testFolder();
const options = { processes: 1, testMsMax: 30 * 60_000, folder };
const started = performance.now();
const endMs = started + limitMs + overtimeMs;
const measured: Record<string, number> = {};
const { results, leftOut } = await runWithin(
  groups,
  async (group) => {
    const recordTo = join(folder, `timings-${Bun.randomUUIDv7()}.json`);
    const more = { endMs, ...(values.record && { recordTo }) };
    const outcome = await runTests(group.join(', '), group, { ...options, ...more });
    if (existsSync(recordTo)) Object.assign(measured, readTimings(recordTo).files);
    return { group, outcome };
  },
  { lanes, lanesMax: 1.5 * lanes, isIdle: isMachineIdle, ms: limitMs, expectedMs: groupMs },
);
const stopped = results.filter(({ outcome }) => outcome.isStopped && outcome.failures.length === 0);
const ended = results.filter((result) => !stopped.includes(result)).map(({ outcome }) => outcome);
const outcome = await repeatFailures(summary(ended), files, { ...options, endMs: endMs + repeatMs });
await removeFolder(folder);
if (values.record) {
  Object.assign(timings.files, measured);
  writeFileSync(timingsPath, `${JSON.stringify(timings, null, 2)}\n`);
}
console.log('\nseconds  of a processor  proofs');
for (const { name, seconds, processorSeconds = 0 } of ended.toSorted((a, b) => b.seconds - a.seconds))
  console.log(`${Math.round(seconds)}  ${processorSeconds}  ${name}`);
for (const file of [...leftOut, ...stopped.map(({ group }) => group)].flat())
  console.log(`left out, because there was no time: ${file}`);
finish([outcome]);

/**
 * A different order for each commit: where time is short, each proof has its turn. Those whose names begin with the same
 * word stay together, because they need the same programs, such as a browser.
 */
function inChangingOrder(files: readonly string[]): string[] {
  const commit = Bun.spawnSync(['git', 'rev-parse', 'HEAD'], { cwd: root }).stdout.toString();
  const words = Map.groupBy(files, (file) => file.replace(/[-.][^/]*$/, ''));
  const rank = (word: string) => Bun.hash(commit + word);
  return [...words.keys()]
    .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
    .flatMap((word) => words.get(word) ?? []);
}

function summary(runs: readonly Outcome[]): Outcome {
  const outcomes = runs.map((run) => (run.exitCode !== 0 && run.failed === 0 ? crashFailures(run) : run));
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
function crashFailures(run: Outcome): Outcome {
  const failures = run.name.split(', ').map((file) => ({
    file,
    name: `${file} > (the process)`,
    text: `It ended with ${run.exitCode}.`,
  }));
  return { ...run, failed: failures.length, failures };
}
