import { expect, test } from 'bun:test';
import { compareStrictness, type Mask, stricter } from './masks.ts';

const mask = (kind: Mask['kind'], args: Mask['args'] = {}): Mask => ({ kind, args });

const pairs: [string, Mask, Mask][] = [
  ['a coarser rounding', mask('round', { to: 1000 }), mask('round', { to: 1 })],
  ['a year', mask('truncate', { unit: 'year' }), mask('truncate', { unit: 'month' })],
  ['a month', mask('truncate', { to: 'month' }), mask('truncate', { to: 'day' })],
  ['fewer characters', mask('partial', { first: 0, last: 0 }), mask('partial', { first: 6, last: 6 })],
  ['nothing of an address', mask('partial', { first: 1, last: 0 }), mask('email')],
  ['another kind', mask('redact'), mask('hash')],
];

test.each(pairs)('%s is stricter, in whichever order the masks come', (_, strict, weak) => {
  expect(stricter(strict, weak)).toEqual(strict);
  expect(stricter(weak, strict)).toEqual(strict);
  expect([weak, null, strict].toSorted(compareStrictness)).toEqual([null, weak, strict]);
});

test('of two masks of which neither hides all that the other hides, what remains hides both', () => {
  const [first, last] = [mask('partial', { first: 3, last: 0 }), mask('partial', { first: 0, last: 3 })];
  expect(stricter(first, last)).toEqual(mask('partial', { first: 0, last: 0 }));
  for (const pair of [[first, mask('email')] as const, [mask('email'), first] as const])
    expect(stricter(...pair)).toEqual(mask('redact'));
});

test('of two constants the later one counts', () => {
  expect(stricter(mask('constant', { value: 5 }), mask('constant', { value: 0 }))).toEqual(
    mask('constant', { value: 0 }),
  );
});
