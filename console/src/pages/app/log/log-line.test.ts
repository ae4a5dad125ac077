import { describe, expect, test } from 'bun:test';
import { fittingLines, hitsIn, type KeptLine, keptLinesMax, linesText, withMore } from './log-line.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const line = (text: string, stream: KeptLine['stream'] = 'stdout', second = 0) => ({
  time: at(second),
  stream,
  text,
});
const all = { words: '', stream: 'all', since: null } as const;

describe('the lines of a log that a page keeps', () => {
  test('are numbered on, and the oldest are let go', () => {
    const kept = withMore(withMore([], [line('a'), line('b')]), [line('c')]);
    expect(kept.map(({ number, text }) => `${number} ${text}`)).toEqual(['1 a', '2 b', '3 c']);
    const many = Array.from({ length: keptLinesMax }, (_, index) => line(String(index)));
    const after = withMore(kept, many);
    expect([after.length, after[0]?.number, after.at(-1)?.number]).toEqual([
      keptLinesMax,
      4,
      keptLinesMax + 3,
    ]);
    expect(withMore(kept, [])).toBe(kept);
  });

  test('are found by words in any order and case, through colours, by stream and by time', () => {
    const lines = withMore(
      [],
      [
        line('GET /rooms 200'),
        line('\u001b[31mFAILED\u001b[0m to get', 'stderr', 5),
        line('done', 'platform', 9),
      ],
    );
    const found = (wish: Partial<Parameters<typeof fittingLines>[1]>) =>
      fittingLines(lines, { ...all, ...wish }).map(({ number }) => number);
    expect(fittingLines(lines, all)).toBe(lines);
    expect(found({ words: 'get' })).toEqual([1, 2]);
    expect(found({ words: ' get  failed ' })).toEqual([2]);
    expect(found({ stream: 'stderr' })).toEqual([2]);
    expect(found({ since: new Date(at(5)) })).toEqual([2, 3]);
    expect(found({ words: 'done', stream: 'stdout' })).toEqual([]);
  });

  test('become a text without colours', () => {
    expect(linesText(withMore([], [line('\u001b[32mok\u001b[0m', 'stderr')]))).toBe(`${at(0)} stderr ok\n`);
  });
});

describe('what was searched for', () => {
  test.each([
    ['GET /rooms', 'rooms', ['GET /', 'rooms', '']],
    ['a+b and A+B', 'a+b', ['', 'a+b', ' and ', 'A+B', '']],
    ['nothing', '', ['nothing']],
    ['one two', 'two one', ['', 'one', ' ', 'two', '']],
  ])('in %j by %j', (text, words, pieces) => {
    expect(hitsIn(text, words)).toEqual(pieces);
  });
});
