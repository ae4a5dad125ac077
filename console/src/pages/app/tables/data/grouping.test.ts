import { expect, test } from 'bun:test';
import { barLength, groupChoices, groupFilters, groupSearch, totalSearch, valueChoices } from './grouping.ts';

const columns = [
  { name: 'status', type: 'text' },
  { name: 'amount', type: 'bigint' },
  { name: 'at', type: 'timestamptz' },
  { name: 'extra', type: 'jsonb' },
] as const;

test('rows are grouped by a column or a period, and numbers are summed up', () => {
  expect(groupChoices(columns).map(({ label }) => label)).toEqual([
    'status',
    'amount',
    'at by year',
    'at by quarter',
    'at by month',
    'at by week',
    'at by day',
  ]);
  expect(valueChoices(columns).map(({ value }) => value)).toEqual([
    'count()',
    'amount.sum()',
    'amount.avg()',
    'amount.min()',
    'amount.max()',
  ]);
});

test('the query has the filters of the grid, and periods their time zone and order', () => {
  const filters = [{ column: 'status', text: 'eq.open' }];
  const more = { filters, columns, zone: 'Europe/Berlin' };
  const search = (group: string) => [...groupSearch({ group, value: 'count()' }, more)];
  expect(search('status')).toEqual([
    ['status', 'eq.open'],
    ['select', 'g:status,v:count()'],
    ['sort', '-v,g'],
    ['per_page', '100'],
  ]);
  expect(search('at.month').slice(1, 3)).toEqual([
    ['select', 'g:at.month(Europe/Berlin),v:count()'],
    ['sort', 'g'],
  ]);
  expect([...totalSearch({ value: 'amount.sum()' }, [])]).toEqual([['select', 'v:amount.sum()']]);
});

test('a group has the conditions for its rows', () => {
  const typed = [...columns, { name: 'day', type: 'date' }, { name: 'done', type: 'bool' }] as const;
  const texts = (group: string, json: string) =>
    groupFilters({ group }, json, typed).map(({ column, text }) => `${column}=${text}`);
  expect(texts('status', '"in.(a)"')).toEqual(['status=eq.in.(a)']);
  expect(texts('status', 'null')).toEqual(['status=is.null']);
  expect(texts('amount', '12')).toEqual(['amount=eq.12']);
  expect(texts('done', 'true')).toEqual(['done=is.true']);
  expect(texts('day.quarter', '"2025-10-01"')).toEqual(['day=gte.2025-10-01', 'day=lt.2026-01-01']);
  expect(texts('day.week', '"2025-12-29"')).toEqual(['day=gte.2025-12-29', 'day=lt.2026-01-05']);
  expect(texts('day.year', '"9999-01-01"')).toEqual(['day=gte.9999-01-01']);
  const [start, end] = [new Date(2026, 2, 1), new Date(2026, 3, 1)].map((at) => at.toISOString());
  expect(texts('at.month', '"2026-03-01"')).toEqual([`at=gte.${start}`, `at=lt.${end}`]);
});

test('bars are as long as their share of the largest value', () => {
  expect(barLength('5', ['5', '10', 'null'])).toBe(50);
  expect(barLength('"18446744073709551614"', ['"18446744073709551614"', '-3'])).toBe(100);
  expect(barLength('-3', ['10', '-3'])).toBe(0);
  expect(barLength('null', ['null'])).toBe(0);
});
