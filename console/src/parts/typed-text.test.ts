import { expect, test } from 'bun:test';
import { followed } from './typed-text.ts';

const olga = { text: 'Olga', seen: 'Olga', sent: 'Olga' };

test('the box is emptied by a link without the word and filled again by the back button', () => {
  const emptied = followed(olga, '');
  expect(emptied.text).toBe('');
  expect(followed(emptied, 'Olga').text).toBe('Olga');
});

test('what is typed on while the address follows is kept', () => {
  const ahead = { text: 'Olga P', seen: '', sent: 'Olga' };
  expect(followed(ahead, 'Olga')).toEqual({ text: 'Olga P', seen: 'Olga', sent: 'Olga' });
});

test('an address that stays as it was changes nothing', () => {
  const typed = { text: 'Ol', seen: '', sent: '' };
  expect(followed(typed, '')).toBe(typed);
});
