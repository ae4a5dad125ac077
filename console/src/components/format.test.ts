import { expect, test } from 'bun:test';
import { formatBytes, initials } from './format.ts';

test('initials are graphemes of the first and last word', () => {
  expect(['Room booking', 'ada', 'Olga van Owner', '👩‍🚀 crew', '', '  x  '].map(initials)).toEqual([
    'RB',
    'A',
    'OO',
    '👩‍🚀C',
    '',
    'X',
  ]);
});

test('bytes use the largest unit with a whole part', () => {
  expect([0, 1, 999, 1_000, 1_550, 123_456, 25 * 1024 ** 2, 1e15].map(formatBytes)).toEqual([
    '0 bytes',
    '1 byte',
    '999 bytes',
    '1.0 KB',
    '1.6 KB',
    '123 KB',
    '26.2 MB',
    '1000 TB',
  ]);
});
