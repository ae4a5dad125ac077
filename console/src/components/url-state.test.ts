import { expect, test } from 'bun:test';
import { syncTypedText } from './url-state.ts';

const olga = { text: 'Olga', rendered: 'Olga', sent: 'Olga' };

test('a link without the value empties the input and the back button restores it', () => {
  const emptied = syncTypedText(olga, '');
  expect(emptied.text).toBe('');
  expect(syncTypedText(emptied, 'Olga').text).toBe('Olga');
});

test('typing continues while the URL catches up', () => {
  const ahead = { text: 'Olga P', rendered: '', sent: 'Olga' };
  expect(syncTypedText(ahead, 'Olga')).toEqual({ text: 'Olga P', rendered: 'Olga', sent: 'Olga' });
});

test('an unchanged URL changes nothing', () => {
  const typed = { text: 'Ol', rendered: '', sent: '' };
  expect(syncTypedText(typed, '')).toBe(typed);
});
