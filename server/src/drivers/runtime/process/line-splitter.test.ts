import { expect, test } from 'bun:test';
import { splitLines } from './line-splitter.ts';

function linesOf(chunks: readonly Uint8Array[], lineBytesMax = 100): string[] {
  const lines: string[] = [];
  const splitter = splitLines({ lineBytesMax, onLine: (line) => lines.push(line) });
  for (const chunk of chunks) splitter.take(chunk);
  splitter.end();
  return lines;
}
const bytes = (text: string) => new TextEncoder().encode(text);

test('lines are the same however the bytes arrive', () => {
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

test('a line that is too long comes in pieces, none of which parts a character', () => {
  for (const character of ['x', 'ä', '€', '🙂']) {
    const text = character.repeat(400);
    const lines = linesOf([bytes(text)]);
    expect(lines.join('')).toBe(text);
    expect(Math.max(...lines.map((line) => bytes(line).length))).toBeLessThanOrEqual(100);
  }
});

test('bytes that are no text, and NUL, are replaced, however many there are', () => {
  expect(linesOf([new Uint8Array([0x61, 0xff, 0x00, 0x62, 0x0a])])).toEqual(['a\ufffd\ufffdb']);
  const lines = linesOf([new Uint8Array(1_000).fill(0x80)]);
  expect(lines.join('')).toBe('\ufffd'.repeat(1_000));
});

test('what is handed in may be used again by who gave it', () => {
  const chunk = bytes('ab');
  const lines: string[] = [];
  const splitter = splitLines({ lineBytesMax: 10, onLine: (line) => lines.push(line) });
  splitter.take(chunk);
  chunk.fill(0x7a);
  splitter.take(bytes('c\n'));
  expect(lines).toEqual(['abc']);
});
