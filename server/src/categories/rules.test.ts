import { expect, test } from 'bun:test';
import { urlCharsMax } from '@svc/contract/apps.ts';
import { createCategory, updateCategory } from '@svc/contract/categories.shapes.ts';
import { categoryNameCharsMax, displayOrderMax, displayOrderMin } from '@svc/contract/categories.ts';
import { lossOf, withChanges } from './rules.ts';

const row = {
  slug: 'pets',
  name: 'Pets',
  description: 'd',
  color: '#aabbcc',
  icon_url: 'u',
  display_order: 3,
};

test('what is left out of a change stays, and what is empty or zero is set', () => {
  expect(withChanges(row, {})).toEqual(row);
  const cleared = { name: 'Animals', description: '', color: '', icon_url: '', display_order: 0 };
  expect(withChanges(row, cleared)).toEqual({ ...row, ...cleared });
});

test('the loss is told in the number that it has', () => {
  expect(lossOf(1)).toBe('1 app stands in it, and will stand in none.');
  expect(lossOf(12)).toBe('12 apps stand in it, and will stand in none.');
});

test.each<[object, boolean]>([
  [{ color: '#00897b' }, true],
  [{ color: '' }, true],
  [{ color: '#00897' }, false],
  [{ color: '00897b' }, false],
  [{ color: 'red' }, false],
  [{ color: '#00897b\n' }, false],
  [{ icon_url: 'https://example.test/a.png' }, true],
  [{ icon_url: '' }, true],
  [{ icon_url: 'javascript:alert(1)' }, false],
  [{ icon_url: 'https://user:secret@example.test/' }, false],
  [{ display_order: displayOrderMin }, true],
  [{ display_order: displayOrderMax }, true],
  [{ display_order: displayOrderMax + 1 }, false],
  [{ display_order: 1.5 }, false],
  [{ display_order: '1' }, false],
  [{ name: ' ' }, false],
  [{ slug: 'a-b' }, true],
  [{ slug: 'A b' }, false],
  [{ slug: '019a8000-0000-7000-8000-000000000001' }, false],
  [{ id: 'x' }, false],
  [{}, false],
])('%j is taken: %p', (body, isTaken) => {
  expect(updateCategory.body.safeParse(body).success).toBe(isTaken);
});

test('texts are taken up to their longest', () => {
  const takes = (body: object) => updateCategory.body.safeParse(body).success;
  const address = (chars: number) => 'https://example.test/'.padEnd(chars, 'a');
  expect([takes({ icon_url: address(urlCharsMax) }), takes({ icon_url: address(urlCharsMax + 1) })]).toEqual([
    ...[true, false],
  ]);
  const name = (chars: number) => takes({ name: 'ü'.repeat(chars) });
  expect([name(categoryNameCharsMax), name(categoryNameCharsMax + 1)]).toEqual([true, false]);
});

test('a colour is kept in lower case, and what is not said is empty', () => {
  expect(createCategory.body.parse({ name: 'Pets', color: '#AABBCC' })).toEqual({
    ...{ name: 'Pets', description: '', color: '#aabbcc', icon_url: '', display_order: 0 },
  });
});
