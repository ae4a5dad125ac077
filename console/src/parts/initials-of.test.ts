import { expect, test } from 'bun:test';
import { initialsOf } from './initials-of.ts';

test('initials are whole signs, of the first and the last word', () => {
  expect(['Room booking', 'ada', 'Olga van Owner', '👩‍🚀 crew', '', '  x  '].map(initialsOf)).toEqual([
    'RB',
    'A',
    'OO',
    '👩‍🚀C',
    '',
    'X',
  ]);
});
