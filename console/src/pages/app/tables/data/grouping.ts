import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { type DatePart, dateParts } from '@svc/contract/rows.ts';
import { useSearchParams } from 'wouter';
import { formatCell, sqlNull } from './cell-value.ts';
import { type Filter, type GridQuery, writeGridQuery } from './grid-query.ts';

export interface Grouping {
  /** A column, or `created_at.month` for the start of a period. */
  group: string;
  /** `count()` or `amount.sum()`. */
  value: string;
}

interface GridColumn {
  name: string;
  type: ColumnType;
}

interface Choice {
  value: string;
  label: string;
}

const periods: readonly DatePart[] = dateParts.filter((part) => part !== 'hour');

export function groupChoices(columns: readonly GridColumn[]): Choice[] {
  return columns.flatMap(({ name, type }): Choice[] => {
    if (describeColumnType(type).sql === 'jsonb') return [];
    if (type !== 'timestamptz' && type !== 'date') return [{ value: name, label: name }];
    return periods.map((part) => ({ value: `${name}.${part}`, label: `${name} by ${part}` }));
  });
}

export const functionLabels = { sum: 'Sum', avg: 'Average', min: 'Minimum', max: 'Maximum' } as const;

export function valueChoices(columns: readonly GridColumn[]): Choice[] {
  const numbers = columns.filter(({ type }) => ['number', 'integer'].includes(describeColumnType(type).json));
  return [
    { value: 'count()', label: 'Number of rows' },
    ...numbers.flatMap(({ name }) =>
      Object.entries(functionLabels).map(([word, label]) => ({
        value: `${name}.${word}()`,
        label: `${label} of ${name}`,
      })),
    ),
  ];
}

export const groupsShownMax = 100;

/** Periods in their order, other groups by their value. */
export function groupSearch(
  { group, value }: Grouping,
  { filters, columns, zone }: { filters: readonly Filter[]; columns: readonly GridColumn[]; zone: string },
): URLSearchParams {
  const search = totalSearch({ value }, filters);
  const dot = group.indexOf('.');
  const isTime = columns.some(({ name, type }) => name === group.slice(0, dot) && type === 'timestamptz');
  const item = dot < 0 ? group : `${group}(${isTime ? zone : ''})`;
  search.set('select', `g:${item},v:${value}`);
  search.set('sort', dot < 0 ? '-v,g' : 'g');
  search.set('per_page', String(groupsShownMax));
  return search;
}

export function totalSearch({ value }: Pick<Grouping, 'value'>, filters: readonly Filter[]): URLSearchParams {
  const search = new URLSearchParams();
  for (const { column, text } of filters) search.append(column, text);
  search.set('select', `v:${value}`);
  return search;
}

/** Conditions for the rows of a group. The zone of periods is that of the browser. */
export function groupFilters(
  { group }: Pick<Grouping, 'group'>,
  json: string,
  columns: readonly GridColumn[],
): Filter[] {
  const [column = '', part] = group.split('.');
  if (json === sqlNull) return [{ column, text: 'is.null' }];
  const type = columns.find(({ name }) => name === column)?.type ?? 'text';
  const text = formatCell('text', json);
  if (part === undefined) return [{ column, text: `${type === 'bool' ? 'is' : 'eq'}.${text}` }];
  const [year = 0, month = 1, day = 1] = text.split('-').map(Number);
  const { months = 0, days = 0 } = periodLengths[part as DatePart] ?? {};
  // An edge of a period is midnight in the zone, which is not a number of hours after the one before.
  const edge = (moreMonths: number, moreDays: number) => {
    const [y, m, d] = [year, month - 1 + moreMonths, day + moreDays] as const;
    const isTime = type === 'timestamptz';
    const at = isTime ? new Date(y, m, d) : new Date(Date.UTC(y, m, d));
    return isTime ? at.toISOString() : at.toISOString().slice(0, 10);
  };
  const end = edge(months, days);
  // No value is later than the year 9999.
  return [`gte.${edge(0, 0)}`, ...(end.startsWith('+') ? [] : [`lt.${end}`])].map((test) => ({
    column,
    text: test,
  }));
}

const periodLengths: Partial<Record<DatePart, { months?: number; days?: number }>> = {
  year: { months: 12 },
  quarter: { months: 3 },
  month: { months: 1 },
  week: { days: 7 },
  day: { days: 1 },
};

/** The length of a bar in percent. */
export function barLength(json: string, all: readonly string[]): number {
  const numbers = all.map(toNumber);
  const largest = Math.max(0, ...numbers);
  return largest === 0 ? 0 : (Math.max(0, toNumber(json)) / largest) * 100;
}

/** Integers beyond the precision of a double are strings. */
const toNumber = (json: string) => Number(json.replaceAll('"', '')) || 0;

/** Links from a group to its rows in the grid. */
export function useGroupHref(
  grouping: Grouping,
  query: GridQuery,
  columns: readonly GridColumn[],
): (json: string) => string {
  const [search] = useSearchParams();
  return (json) => {
    const filters = [...query.filters, ...groupFilters(grouping, json, columns)];
    const next = writeGridQuery(search, { filters });
    for (const name of ['group', 'value']) next.delete(name);
    return `?${next}`;
  };
}

export function useGrouping(
  columns: readonly GridColumn[],
): [Grouping | null, (change: Partial<Grouping>) => void] {
  const [search, setSearch] = useSearchParams();
  const findChoice = (choices: readonly Choice[], value: string | null) =>
    choices.find((choice) => choice.value === value)?.value;
  const group = findChoice(groupChoices(columns), search.get('group'));
  const value = findChoice(valueChoices(columns), search.get('value')) ?? 'count()';
  const change = (next: Partial<Grouping>) =>
    setSearch((now) => {
      const params = new URLSearchParams(now);
      for (const [name, text] of Object.entries(next)) {
        if (text === '') params.delete(name);
        else params.set(name, text);
      }
      return params;
    });
  return [group === undefined ? null : { group, value }, change];
}
