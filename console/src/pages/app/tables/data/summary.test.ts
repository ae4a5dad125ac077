import { expect, test } from 'bun:test';
import type { VisibleColumn } from '../use-table.ts';
import { readGridQuery } from './grid-query.ts';
import { formatSummaries, parseSummaries, summaryChoices, summarySearch, summaryText } from './summary.ts';

const column = (name: string, type: string, more: Partial<VisibleColumn> = {}) =>
  ({ name, type, ...more }) as VisibleColumn;
const columns = [
  column('id', 'uuid'),
  column('title', 'text'),
  column('amount', 'decimal(12,2)'),
  column('day', 'date'),
  column('customer', 'int', { ref: 'customers' }),
  column('extra', 'jsonb'),
  column('salary', 'int', { mask: 'hash' }),
];

test('each column has the functions that apply to its values', () => {
  expect(Object.fromEntries(columns.map((each) => [each.name, summaryChoices(each).join(' ')]))).toEqual({
    id: 'count count_distinct',
    title: 'count count_distinct',
    amount: 'sum avg min max count count_distinct',
    day: 'min max count count_distinct',
    customer: 'count count_distinct',
    extra: 'count',
    salary: 'count',
  });
});

test('the URL holds the choice, without what the table does not have', () => {
  const summaries = parseSummaries('amount.sum,gone.sum,title.avg,day.max,extra', columns);
  expect(formatSummaries(summaries)).toBe('amount.sum,day.max');
  expect(parseSummaries('', columns).size).toBe(0);
});

test('the query has the filters and the search of the grid', () => {
  const params = new URLSearchParams('filter=amount%3Dgt.3&search=tea&sort=-day&cursor=abc&select=title');
  const search = summarySearch(parseSummaries('amount.sum,day.max', columns), readGridQuery(params, columns));
  expect([...search]).toEqual([
    ['amount', 'gt.3'],
    ['_search', 'tea'],
    ['select', 's0:amount.sum(),s1:day.max()'],
  ]);
});

test('sums have all of their digits, averages those that are certain', () => {
  expect(summaryText('sum', '"18446744073709551614"')).toBe('18446744073709551614');
  expect(summaryText('avg', '12.333333333333334')).toBe('12.3333333333');
  expect(summaryText('max', '"2026-01-31"')).toBe('2026-01-31');
  expect(summaryText('min', 'null')).toBe('–');
  expect(summaryText('count', undefined)).toBe('–');
});
