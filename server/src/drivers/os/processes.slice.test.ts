import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { patientMs } from '../../../../scripts/patience.ts';
import { findProcess, runProgram } from './processes.ts';

test('a program has ended although a process that it left behind holds its output open', async () => {
  const begun = performance.now();
  const { status, output } = await runProgram('sh', ['-c', 'sleep 60 & echo $!; exit 3'], {});
  expect([status, performance.now() - begun < patientMs(20_000)]).toEqual([3, true]);
  process.kill(Number(output));
});

test('a program ends with all of its output', async () => {
  const { status, output } = await runProgram('sh', ['-c', 'seq 200000'], {});
  expect([status, output.split('\n').length]).toEqual([0, 200_000]);
});

test('a program that does not end in time is killed with what it started, and its output says so', async () => {
  const script = 'sleep 300 & echo $!; sleep 300';
  const limitMs = patientMs(1_000);
  const { status, output } = await runProgram('sh', ['-c', script], { limitMs });
  expect([status, output.split('\n').slice(1)]).toEqual([
    null,
    ['', `sh did not end within ${limitMs / 1_000} seconds.`],
  ]);
  await untilEnded(Number(output.split('\n')[0]));
});

test('a program with a time limit ends with the process that runs it', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-test-')), 'pid');
  const program = `echo $$ >${file}.new; mv ${file}.new ${file}; exec sleep 300`;
  const script = `const { runProgram } = await import('./processes.ts');
    void runProgram('sh', ['-c', ${JSON.stringify(program)}], { limitMs: 300_000 });
    while (!(await Bun.file(${JSON.stringify(file)}).exists())) await Bun.sleep(10);
    process.exit();`;
  const run = Bun.spawn([process.execPath, '-e', script], { cwd: import.meta.dir });
  expect(await run.exited).toBe(0);
  await untilEnded(Number(readFileSync(file, 'utf8')));
  rmSync(dirname(file), { recursive: true });
});

async function untilEnded(pid: number): Promise<void> {
  for (const deadline = Date.now() + patientMs(5_000); findProcess(pid) !== null; await Bun.sleep(20))
    expect(Date.now()).toBeLessThan(deadline);
}
