import { expect, test } from 'bun:test';
import { diffLines, foldSame } from './line-diff.ts';

const signs = { same: ' ', added: '+', removed: '-' } as const;
const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => signs[kind] + text);

test('added and removed lines are listed', () => {
  expect(shown('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([' a', '-b', '+B', ' c', '+d']);
  expect(shown('', 'a\n')).toEqual(['+a']);
  expect(shown('a\n', '')).toEqual(['-a']);
  expect(shown('same\n', 'same\n')).toEqual([' same']);
});

test('lines have their numbers in each text', () => {
  expect(diffLines('a\nb', 'b\nc').map(({ before, after }) => [before, after])).toEqual([
    [1, null],
    [2, 1],
    [null, 2],
  ]);
});

function randomText(seed: number): string {
  let state = seed;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
  return Array.from({ length: next() % 30 }, () => 'abcd'[next() % 4]).join('\n');
}

test('both texts can be reconstructed from any diff', () => {
  for (let seed = 1; seed <= 500; seed += 1) {
    const [before, after] = [randomText(seed), randomText(seed + 7_919)];
    const lines = diffLines(before, after);
    const without = (kind: string) =>
      lines
        .filter((line) => line.kind !== kind)
        .map(({ text }) => text)
        .join('\n');
    expect([without('added'), without('removed')]).toEqual([before, after]);
  }
});

test('long texts without common lines are diffed quickly', () => {
  const [before, after] = ['a', 'b'].map((letter) =>
    Array.from({ length: 20_000 }, (_, at) => `${letter}${at}`).join('\n'),
  );
  expect(diffLines(before!, after!)).toHaveLength(40_000);
});

test('unchanged lines are collapsed except around changes', () => {
  const before = Array.from({ length: 40 }, (_, at) => `line ${at}`).join('\n');
  const parts = foldSame(diffLines(before, before.replace('line 20', 'another')));
  expect(parts.map(({ kind, lines }) => [kind, typeof lines === 'number' ? lines : lines.length])).toEqual([
    ['hidden', 17],
    ['shown', 8],
    ['hidden', 16],
  ]);
});
