import { join, resolve } from 'node:path';
import { type FailedTest, failedTests } from './failed-tests.ts';

export const root = resolve(import.meta.dir, '..');

export interface Outcome {
  name: string;
  passed: number;
  failed: number;
  skipped: number;
  exitCode: number;
  seconds: number;
  failures: readonly FailedTest[];
}

/**
 * Several processes side by side, each with the files that take its share of the time: the timings are of an earlier run,
 * and may be out of date. What each prints comes behind that of the one before.
 */
export async function runParts(name: string, parts: number, args: readonly string[]): Promise<Outcome[]> {
  const outcomes: Promise<Outcome>[] = [];
  for (let part = 1; part <= parts; part++) {
    const own = [`--shard=${part}/${parts}`, '--timings=scripts/test-timings.json', ...args];
    outcomes.push(runTests(`${name} ${part}/${parts}`, own, outcomes.at(-1)));
  }
  return Promise.all(outcomes);
}

/** Runs `bun test` over some folders, shows what it prints (once `quietUntil` is over), and counts. */
export async function runTests(
  name: string,
  args: readonly string[],
  quietUntil?: Promise<unknown>,
): Promise<Outcome> {
  const begun = performance.now();
  const child = Bun.spawn([process.execPath, 'test', ...args], {
    cwd: root,
    env: { ...process.env, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' },
    stdout: quietUntil ? 'pipe' : 'inherit',
    stderr: 'pipe',
    stdin: 'ignore',
  });
  const printed = quietUntil ? new Response(child.stdout as ReadableStream).text() : null;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stderr) {
    if (!quietUntil) process.stderr.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  const exitCode = await child.exited;
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  await quietUntil;
  if (quietUntil) {
    process.stderr.write(text);
    process.stdout.write((await printed) ?? '');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the report are removed.
  const plain = text.replace(/\x1b\[[0-9;]*m/g, '');
  const count = (word: string) => Number(plain.match(new RegExp(`^\\s*(\\d+) ${word}$`, 'm'))?.[1] ?? 0);
  return {
    ...{ name, passed: count('pass'), failed: count('fail'), skipped: count('skip'), exitCode, seconds },
    failures: failedTests(plain),
  };
}

export async function runTool(name: string, command: readonly string[]): Promise<Outcome> {
  const begun = performance.now();
  const child = Bun.spawn([join(root, 'node_modules', '.bin', command[0] ?? ''), ...command.slice(1)], {
    cwd: root,
    stdout: 'inherit',
    stderr: 'inherit',
    stdin: 'ignore',
  });
  const exitCode = await child.exited;
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  return {
    name,
    passed: exitCode === 0 ? 1 : 0,
    failed: exitCode === 0 ? 0 : 1,
    skipped: 0,
    exitCode,
    seconds,
    failures: [],
  };
}

/** One line per part, then the sum; the process ends with what the parts ended with. */
export function finish(outcomes: readonly Outcome[]): never {
  const sum = (key: 'passed' | 'failed' | 'skipped') =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  console.log('');
  for (const { name, passed, failed, skipped, seconds, exitCode } of outcomes) {
    const crashed = exitCode !== 0 && failed === 0 ? `, ended with ${exitCode}` : '';
    console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s${crashed}`);
  }
  const bad = outcomes.some((outcome) => outcome.exitCode !== 0);
  const unseen = outcomes.filter((outcome) => outcome.exitCode !== 0 && outcome.failed === 0).length;
  console.log(`${sum('passed')} passed, ${sum('failed') + unseen} failed, ${sum('skipped')} skipped`);
  // Of a long output often only the end is kept: what has to be known stands there.
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  for (const { name, text } of failures) console.log(`\nfailed: ${name}\n${text}`);
  if (failures.length > 1) console.log(`\n${failures.map(({ name }) => `failed: ${name}`).join('\n')}`);
  process.exit(bad ? 1 : 0);
}
