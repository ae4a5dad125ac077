import { expect, test } from 'bun:test';
import { urlCharsMax } from '@svc/contract/apps.ts';
import { createCategory, updateCategory } from '@svc/contract/categories.shapes.ts';
import { categoryNameCharsMax, displayOrderMax, displayOrderMin } from '@svc/contract/categories.ts';
import { detachWarning } from './categories.ts';

test('the warning uses singular and plural', () => {
  expect(detachWarning(1)).toBe('1 app will have no category.');
  expect(detachWarning(12)).toBe('12 apps will have no category.');
});

test.each<[object, boolean]>([
  [{ color: '#00897b' }, true],
  [{ color: '' }, true],
  [{ color: '#00897' }, false],
  [{ color: '00897b' }, false],
  [{ color: 'red' }, false],
  [{ color: '#00897b\n' }, false],
  [{ icon_url: 'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31' }, true],
  [{ icon_url: 'https://example.test/a.png' }, false],
  [{ icon_url: 'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31?a' }, false],
  [{ icon_url: '' }, true],
  [{ icon_url: 'javascript:alert(1)' }, false],
  [{ icon_url: 'https://user:secret@example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31' }, false],
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
])('an update with %j is valid: %p', (body, isValid) => {
  expect(updateCategory.body.safeParse(body).success).toBe(isValid);
});

test('texts are accepted up to their maximum length', () => {
  const takes = (body: object) => updateCategory.body.safeParse(body).success;
  const path = '.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31';
  const icon = (chars: number) =>
    takes({ icon_url: `${'https://'.padEnd(chars - path.length, 'a')}${path}` });
  expect([icon(urlCharsMax), icon(urlCharsMax + 1)]).toEqual([true, false]);
  const name = (chars: number) => takes({ name: 'ü'.repeat(chars) });
  expect([name(categoryNameCharsMax), name(categoryNameCharsMax + 1)]).toEqual([true, false]);
});

test('a colour is stored in lower case, and omitted fields are empty', () => {
  expect(createCategory.body.parse({ name: 'Pets', color: '#AABBCC' })).toEqual({
    name: 'Pets',
    description: '',
    color: '#aabbcc',
    icon_url: '',
    display_order: 0,
  });
});
