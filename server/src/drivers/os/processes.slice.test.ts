import { expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { runProgram } from './processes.ts';

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
