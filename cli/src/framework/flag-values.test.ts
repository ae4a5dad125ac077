import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatDuration, parseDuration, parseFlagValue } from './flag-values.ts';

test.each([
  ['500ms', 500],
  ['6s', 6000],
  ['10m', 600_000],
  ['1h', 3_600_000],
  ['30d', 2_592_000_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['0s', 0],
])('%s is parsed', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '5', '-1s', '1 s', '1S', 's', '1x', '1s1h', '1s1s', '1e3s', '999999999999d', '٣s', '1s\n'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeNull();
  },
);

test('a formatted time is parsed as the same time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 * 365 * 86_400_000 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
});

test('no text makes parsing throw or return a negative number or NaN', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.msd h]{0,12}$/)), (text) => {
      const ms = parseDuration(text);
      expect(ms === null || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
    }),
  );
});

test.each([
  ['a,b', ['a', 'b']],
  [' a , b ', ['a', 'b']],
  ['"Europe, all",Own region', ['Europe, all', 'Own region']],
  ['"the ""big"", one"', ['the "big", one']],
  ['amount:decimal(12,2),n:int', ['amount:decimal(12,2)', 'n:int']],
  ['"a" b,c', ['"a" b', 'c']],
  ['', []],
])('%j is a list', (text, entries) => {
  expect(parseFlagValue('--policy', { type: 'list', summary: '' }, text)).toEqual(entries);
});

test.each(['a,', ',a', 'a,,b', '""'])('%j has an empty entry', (text) => {
  expect(() => parseFlagValue('--policy', { type: 'list', summary: '' }, text)).toThrow('empty entry');
});
