import { expect, test } from 'bun:test';
import { Readable } from 'node:stream';
import type { LogSink } from '../runtime.ts';
import { readOutput, splitLines } from './output.ts';

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

test('lines beyond the capacity of a log are counted', async () => {
  const { log, lines, missed } = logOf(2);
  await readOutput(chunksOf('one\ntwo\n', 'three\nfour\nfi', 've\nsix\n'), { name: 'stdout', log });
  expect([lines, missed()]).toEqual([['one', 'two'], 4]);
});

test('a log with free capacity continues with a complete line', async () => {
  const { log, lines, missed } = logOf(1);
  let rounds = 0;
  const isFull = log.isFull?.bind(log);
  log.isFull = () => ++rounds < 3 && (isFull?.() ?? false);
  await readOutput(chunksOf('one\n', 'two\nthr', 'ee\nfour'), { name: 'stdout', log });
  expect([lines, missed()]).toEqual([['one', 'three', 'four'], 1]);
});

test('a log that is stored whole gets every line: its program waits', async () => {
  const { log, lines } = logOf(Number.POSITIVE_INFINITY);
  let stored = 0;
  log.ready = () => {
    if (lines.length - stored < 2) return null;
    return Bun.sleep(1).then(() => {
      stored = lines.length;
    });
  };
  await readOutput(chunksOf('one\ntwo\n', 'three\nfour\nfi', 've\nsix\n'), { name: 'stdout', log });
  expect([lines, stored]).toEqual([['one', 'two', 'three', 'four', 'five', 'six'], 4]);
});

function linesOf(chunks: readonly Uint8Array[], lineBytesMax = 100): string[] {
  const lines: string[] = [];
  const splitter = splitLines({ lineBytesMax, onLine: (line) => lines.push(line) });
  for (const chunk of chunks) splitter.take(chunk);
  splitter.end();
  return lines;
}
const bytes = (text: string) => new TextEncoder().encode(text);

test('lines do not depend on chunk boundaries', () => {
  const all = bytes('one\r\n\ntwo äöü €\n🙂 half');
  const expected = ['one', '', 'two äöü €', '🙂 half'];
  expect(linesOf([all])).toEqual(expected);
  for (let size = 1; size < 8; size++) {
    const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
      all.slice(at * size, (at + 1) * size),
    );
    expect(linesOf(chunks)).toEqual(expected);
  }
});

test('a long line is split between characters', () => {
  for (const character of ['x', 'ä', '€', '🙂']) {
    const text = character.repeat(400);
    const lines = linesOf([bytes(text)]);
    expect(lines.join('')).toBe(text);
    expect(Math.max(...lines.map((line) => bytes(line).length))).toBeLessThanOrEqual(100);
  }
});

test('invalid UTF-8 and NUL are replaced', () => {
  expect(linesOf([new Uint8Array([0x61, 0xff, 0x00, 0x62, 0x0a])])).toEqual(['a\ufffd\ufffdb']);
  const lines = linesOf([new Uint8Array(1_000).fill(0x80)]);
  expect(lines.join('')).toBe('\ufffd'.repeat(1_000));
});

test('the caller may reuse its buffer', () => {
  const chunk = bytes('ab');
  const lines: string[] = [];
  const splitter = splitLines({ lineBytesMax: 10, onLine: (line) => lines.push(line) });
  splitter.take(chunk);
  chunk.fill(0x7a);
  splitter.take(bytes('c\n'));
  expect(lines).toEqual(['abc']);
});
