import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Glob } from 'bun';
import { type FailedTest, failedTests } from './failed-tests.ts';

export const root = resolve(import.meta.dir, '..');

export interface Outcome {
  name: string;
  passed: number;
  failed: number;
  skipped: number;
  exitCode: number;
  seconds: number;
  /** Of the tests and the processes that they have waited for. */
  processorSeconds?: number;
  failures: readonly FailedTest[];
  /** Failed while other files shared the machine, passed alone. */
  onlyAlone?: readonly FailedTest[];
  /** The time limit was over before the tests were. */
  isStopped?: boolean;
}

export function testFiles(
  ending: 'test' | 'proof',
  folders = '{contract,server,cli,sdk,console,scripts,bench,acceptance}',
) {
  const found = [...new Glob(`${folders}/**/*.${ending}.{ts,tsx}`).scanSync(root)];
  return found
    .filter((path) => !path.includes('node_modules/'))
    .map((path) => `./${path}`)
    .sort();
}

interface RunOptions {
  processes: number;
  testMsMax: number;
  /** Shared by several runs. */
  folder?: string;
  /** When the run is stopped, in the time of `performance.now()`. */
  endMs?: number;
  /** A file for the measured time of each test file. */
  recordTo?: string;
}

/** More failures than this are not the fault of a busy machine. */
const repeatedFilesMax = 16;

/**
 * A test that fails while several processes share the cores is run once more, its file alone: that result counts. The
 * report lists such tests, because each of them has a flaw.
 */
export async function runTestsPatiently(
  name: string,
  files: readonly string[],
  options: RunOptions,
): Promise<Outcome> {
  return repeatFailures(await runTests(name, files, options), files, options);
}

/** The second run of the files that failed, if they are few. */
export async function repeatFailures(
  first: Outcome,
  files: readonly string[],
  options: RunOptions,
): Promise<Outcome> {
  const again = [...new Set(first.failures.map((failure) => failure.file))];
  const areKnown = first.failures.length >= first.failed && again.every((file) => files.includes(file));
  if (again.length === 0 || again.length > repeatedFilesMax || !areKnown || first.isStopped) return first;
  console.log(`\nOnce more, alone: ${again.join(', ')}`);
  const second = await runTests(first.name, again, { ...options, processes: 1 });
  if (second.isStopped) return first;
  const seconds = Math.round((first.seconds + second.seconds) * 10) / 10;
  if (second.exitCode !== 0 && second.failures.length === 0) return { ...first, seconds };
  const stillFail = new Set(second.failures.map((failure) => failure.name));
  return {
    ...first,
    passed: first.passed + first.failed - second.failed,
    failed: second.failed,
    exitCode: second.exitCode,
    seconds,
    failures: second.failures,
    onlyAlone: first.failures.filter((failure) => !stillFail.has(failure.name)),
  };
}

/**
 * Tests wait about as much as they compute, so there are more processes than cores. The files of one process share
 * its servers.
 */
export async function runTests(
  name: string,
  files: readonly string[],
  options: RunOptions,
): Promise<Outcome> {
  const started = performance.now();
  const folder = options.folder ?? testFolder();
  const child = Bun.spawn(
    [
      process.execPath,
      'test',
      `--parallel=${Math.min(options.processes, files.length)}`,
      '--no-isolate',
      ...(options.recordTo
        ? [`--timings=${options.recordTo}`, '--update-timings']
        : ['--timings=scripts/test-timings.json']),
      `--timeout=${options.testMsMax}`,
      ...files,
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        SVC_TEST_FOLDER: folder,
        SVC_TEST_PATIENCE: '10',
        SVC_TEST_MS_MAX: String(options.testMsMax),
        FORCE_COLOR: process.stdout.isTTY ? '1' : '0',
      },
      stdout: 'inherit',
      stderr: 'pipe',
      stdin: 'ignore',
    },
  );
  const isStopped = stopAt(child, options.endMs);
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stderr) {
    process.stderr.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  const exitCode = await child.exited;
  if (!options.folder) await removeFolder(folder);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the report are removed.
  const plain = text.replace(/\x1b\[[0-9;]*m/g, '');
  const count = (word: string) => Number(plain.match(new RegExp(`^\\s*(\\d+) ${word}$`, 'm'))?.[1] ?? 0);
  return {
    name,
    passed: count('pass'),
    failed: count('fail'),
    skipped: count('skip'),
    exitCode,
    seconds: secondsSince(started),
    processorSeconds: Math.round(Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6),
    failures: failedTests(plain),
    isStopped: isStopped(),
  };
}

/** Answers whether the time was over. At the first signal Bun names the files that are running. */
function stopAt(child: Bun.Subprocess, endMs = Number.POSITIVE_INFINITY): () => boolean {
  if (!Number.isFinite(endMs)) return () => false;
  let isOver = false;
  const stop = () => {
    isOver = true;
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  };
  const timer = setTimeout(stop, Math.max(0, endMs - performance.now()));
  void child.exited.then(() => clearTimeout(timer));
  return () => isOver;
}

export function testFolder(): string {
  const folder = mkdtempSync(join(memoryFolder(), 'svc-run-'));
  // Apps run as other users and must be able to traverse the folder.
  chmodSync(folder, 0o711);
  return folder;
}

export async function removeFolder(folder: string): Promise<void> {
  const isInUse = () => readdirSync(folder).some((name) => name.startsWith('svc-acceptance-'));
  for (const deadline = Date.now() + 30_000; isInUse() && Date.now() < deadline; ) await Bun.sleep(50);
  rmSync(folder, { recursive: true, force: true });
}

function memoryFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir();
}

export async function runTool(
  name: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const started = performance.now();
  const child = Bun.spawn([join(root, 'node_modules', '.bin', command[0] ?? ''), ...command.slice(1)], {
    cwd: root,
    env: { ...process.env, ...env },
    stdout: 'inherit',
    stderr: 'inherit',
    stdin: 'ignore',
  });
  const exitCode = await child.exited;
  return {
    name,
    passed: exitCode === 0 ? 1 : 0,
    failed: exitCode === 0 ? 0 : 1,
    skipped: 0,
    exitCode,
    seconds: secondsSince(started),
    failures: [],
  };
}

/** Where tsc remembers what it has checked: only what depends on a change is checked again. */
const typesCache = 'node_modules/.cache/svc/types.tsbuildinfo';

/** Several checkers check the same types several times, which takes twice the processor time. */
const types = ['tsc', '--noEmit', '-p', '.', '--checkers', '1'];

export function runLinters(): Promise<Outcome[]> {
  return Promise.all([
    // The garbage collection of Go, at a higher share of the memory, takes less of the processor time.
    runTool('types', [...types, '--incremental', '--tsBuildInfoFile', typesCache], { GOGC: '400' }),
    runTool('style', ['biome', 'check', '--error-on-warnings', '.']),
  ]);
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 100) / 10;
}

export function finish(outcomes: readonly Outcome[]): never {
  const sum = (key: 'passed' | 'failed' | 'skipped') =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  for (const { name, text } of failures) console.log(`\nfailed: ${name}\n${text}`);
  console.log(failures.length > 1 ? `\n${failures.map(({ name }) => `failed: ${name}`).join('\n')}\n` : '');
  for (const { name, text } of outcomes.flatMap(({ onlyAlone }) => onlyAlone ?? []))
    console.log(`passed only when run alone: ${name}\n${text}\n`);
  for (const { name, passed, failed, skipped, seconds, exitCode, isStopped } of outcomes) {
    const crashed = exitCode !== 0 && failed === 0 ? `, ended with ${exitCode}` : '';
    if (isStopped) console.log(`${name}: stopped, because the time was over`);
    console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s${crashed}`);
  }
  const crashes = outcomes.filter((outcome) => outcome.exitCode !== 0 && outcome.failed === 0).length;
  console.log(`${sum('passed')} passed, ${sum('failed') + crashes} failed, ${sum('skipped')} skipped`);
  process.exit(outcomes.some((outcome) => outcome.exitCode !== 0) ? 1 : 0);
}
