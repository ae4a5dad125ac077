import { describe, expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { Problem } from '@svc/contract/problem.ts';
import {
  ansiSpans,
  appendLines,
  filterLines,
  type LogLine,
  linesText,
  logLinesMax,
  logRanges,
  rangeLabels,
  rangeStart,
  retryDelay,
  splitMatches,
  stripAnsi,
} from './log-line.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const line = (text: string, stream: LogLine['stream'] = 'stdout', second = 0) => ({
  time: at(second),
  stream,
  process: 'web',
  deployment: 1,
  text,
});
const all = { words: '', stream: 'all', since: null } as const;

describe('log lines in the page', () => {
  test('are numbered continuously, and the oldest are dropped', () => {
    const kept = appendLines(appendLines([], [line('a'), line('b')]), [line('c')]);
    expect(kept.map(({ number, text }) => `${number} ${text}`)).toEqual(['1 a', '2 b', '3 c']);
    const many = Array.from({ length: logLinesMax }, (_, index) => line(String(index)));
    const after = appendLines(kept, many);
    expect([after.length, after[0]?.number, after.at(-1)?.number]).toEqual([logLinesMax, 4, logLinesMax + 3]);
    expect(appendLines(kept, [])).toBe(kept);
  });

  test('are filtered by words, stream and time, ignoring colours and case', () => {
    const lines = appendLines(
      [],
      [
        line('GET /rooms 200'),
        line('\u001b[31mFAILED\u001b[0m to get', 'stderr', 5),
        line('done', 'platform', 9),
      ],
    );
    const found = (wish: Partial<Parameters<typeof filterLines>[1]>) =>
      filterLines(lines, { ...all, ...wish }).map(({ number }) => number);
    expect(filterLines(lines, all)).toBe(lines);
    expect(found({ words: 'get' })).toEqual([1, 2]);
    expect(found({ words: ' get  failed ' })).toEqual([2]);
    expect(found({ stream: 'stderr' })).toEqual([2]);
    expect(found({ since: new Date(at(5)) })).toEqual([2, 3]);
    expect(found({ words: 'done', stream: 'stdout' })).toEqual([]);
  });

  test('are exported without colours', () => {
    expect(linesText(appendLines([], [line('\u001b[32mok\u001b[0m', 'stderr')]))).toBe(
      `${at(0)} stderr ok\n`,
    );
  });
});

describe('matches of the search', () => {
  test.each([
    ['GET /rooms', 'rooms', ['GET /', 'rooms', '']],
    ['a+b and A+B', 'a+b', ['', 'a+b', ' and ', 'A+B', '']],
    ['nothing', '', ['nothing']],
    ['one two', 'two one', ['', 'one', ' ', 'two', '']],
  ])('in %j by %j', (text, words, pieces) => {
    expect(splitMatches(text, words)).toEqual(pieces);
  });
});

const spanTexts = (line: string) =>
  ansiSpans(line).map(({ text, color, isBold }) => `${color ?? '-'}${isBold ? '!' : ''} ${text}`);

describe('text with terminal colours', () => {
  test.each([
    ['plain', ['- plain']],
    ['\u001b[31mred\u001b[0m and not', ['red red', '-  and not']],
    ['\u001b[1;32mgood\u001b[22m less', ['green! good', 'green  less']],
    ['\u001b[91mbright\u001b[39m none', ['red bright', '-  none']],
    ['\u001b[38;5;201mone of many\u001b[m', ['- one of many']],
    ['\u001b[38;2;1;31;3mtrue\u001b[33mthen', ['- true', 'yellow then']],
    ['\u001b[36m\u001b[0m', []],
  ])('%j is split into spans', (line, expected) => {
    expect(spanTexts(line)).toEqual(expected);
  });

  test('can be stripped of colours', () => {
    expect(stripAnsi('\u001b[31mred\u001b[0m and \u001b[1mbold')).toBe('red and bold');
  });
});

const refused = (status: number, retryAfter: number | null = null) =>
  new ProblemError({ status, detail: '' } as Problem, retryAfter);

test('the retry delay grows while the server does not respond', () => {
  const lost = new TypeError('The connection was lost.');
  expect([1, 2, 3, 4, 5, 6, 60].map((failures) => retryDelay(lost, failures))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
});

test('only transient errors and ended sessions are retried', () => {
  expect([401, 429, 500, 503].map((status) => retryDelay(refused(status), 1))).toEqual(Array(4).fill(1_000));
  expect([400, 403, 404].map((status) => retryDelay(refused(status), 1))).toEqual(Array(3).fill(null));
});

test('Retry-After is respected up to a limit', () => {
  expect(retryDelay(refused(429, 7), 1)).toBe(7_000);
  expect(retryDelay(refused(429, 3_600), 1)).toBe(30_000);
});

test('a log range has a start time or none', () => {
  const now = new Date('2026-01-02T00:00:00Z');
  const starts = logRanges.map((range) => rangeStart(range, now)?.toISOString().slice(0, 16) ?? null);
  expect(starts).toEqual([null, '2026-01-01T23:55', '2026-01-01T23:00', '2026-01-01T00:00', null]);
});

test('the longest range names the line limit', () => {
  expect(rangeLabels.all).toBe('The last 5,000 lines');
});
