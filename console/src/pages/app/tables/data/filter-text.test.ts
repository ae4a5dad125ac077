import { expect, test } from 'bun:test';
import { columnTypes } from '@svc/contract/columns.ts';
import { filterLabel, opsOf, readFilter, testOf, textOf } from './filter-text.ts';

test('whatever the filter bar can say is read back as it was said', () => {
  for (const type of columnTypes) {
    for (const { op, hint } of opsOf[type]) {
      const said = { op, value: hint === undefined ? '' : op === '' ? 'not.eq.a.b' : 'a.b=c' };
      expect([type, op, testOf(type, textOf(type, said))]).toEqual([type, op, said]);
    }
  }
});

test('a value holds dots, equal signs and words that look like operators', () => {
  expect(readFilter('note=eq.a=b.c')).toEqual({ column: 'note', text: 'eq.a=b.c' });
  expect(testOf('text', 'eq.gt.3')).toEqual({ op: 'eq', value: 'gt.3' });
  expect(readFilter('=eq.1')).toBeNull();
});

test('a bare value is one to be equal to, and what the bar does not know stays as written', () => {
  expect(testOf('text', 'open')).toEqual({ op: 'eq', value: 'open' });
  expect(testOf('text', 'version 1.2')).toEqual({ op: 'eq', value: 'version 1.2' });
  expect(testOf('text', 'not.like.a*')).toEqual({ op: '', value: 'not.like.a*' });
  expect(testOf('int', 'like.a*')).toEqual({ op: '', value: 'like.a*' });
});

test('a filter reads as a sentence', () => {
  expect(filterLabel('text', { column: 'title', text: 'ihas.milk' })).toBe('title contains milk');
  expect(filterLabel('int', { column: 'age', text: 'is.null' })).toBe('age is null');
  expect(filterLabel('text', { column: 'title', text: 'not.like.a*' })).toBe('title not.like.a*');
});
