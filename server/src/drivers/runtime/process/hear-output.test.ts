import { expect, test } from 'bun:test';
import { Readable } from 'node:stream';
import type { LogSink } from '../runtime.ts';
import { hearOutput } from './hear-output.ts';

/** A log that takes so many lines and then no more. */
function logOf(linesMax: number): { log: LogSink; lines: string[]; missed: () => number } {
  const lines: string[] = [];
  let missed = 0;
  const log: LogSink = (_stream, line) => lines.push(line);
  log.isFull = () => lines.length >= linesMax;
  log.miss = (count) => {
    missed += count;
  };
  return { log, lines, missed: () => missed };
}
const chunksOf = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));

test('what a log has no room for is counted, line for line', async () => {
  const { log, lines, missed } = logOf(2);
  await hearOutput(chunksOf('one\ntwo\n', 'three\nfour\nfi', 've\nsix\n'), { name: 'stdout', log });
  expect([lines, missed()]).toEqual([['one', 'two'], 4]);
});

test('a log that has room again begins with a whole line', async () => {
  const { log, lines, missed } = logOf(1);
  let rounds = 0;
  const isFull = log.isFull?.bind(log);
  log.isFull = () => ++rounds < 3 && (isFull?.() ?? false);
  await hearOutput(chunksOf('one\n', 'two\nthr', 'ee\nfour'), { name: 'stdout', log });
  expect([lines, missed()]).toEqual([['one', 'three', 'four'], 1]);
});
