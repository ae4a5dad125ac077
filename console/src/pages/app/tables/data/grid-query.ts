import type { ColumnType } from '@svc/contract/columns.ts';
import { perPageDefault, perPageMax } from '@svc/contract/limits.ts';
import { type Filter, filterText, readFilter } from './filter-text.ts';

/** What of a table is shown. It stands in the address, in the words of the row API. */
export interface GridQuery {
  filters: readonly Filter[];
  sort: readonly SortKey[];
  /** Null: as many as fit. */
  select: readonly string[] | null;
  perPage: number;
  cursor: string | null;
}

export interface SortKey {
  column: string;
  descending: boolean;
}

export interface GridColumn {
  name: string;
  type: ColumnType;
}

/** Of a very wide table not everything is shown unless it is asked for. */
export const columnsShownMax = 40;
export const perPageChoices = [25, perPageDefault, 100, perPageMax] as const;

export function readGridQuery(params: URLSearchParams, columns: readonly GridColumn[]): GridQuery {
  const isKnown = (name: string) => columns.some((column) => column.name === name);
  const select = (params.get('select') ?? '').split(',').filter(isKnown);
  const perPage = Number(params.get('per_page'));
  return {
    // What names no column of the table any more is left out: the address may be older than the table's shape.
    filters: params.getAll('filter').flatMap((text) => {
      const filter = readFilter(text);
      return filter && isKnown(filter.column) ? [filter] : [];
    }),
    sort: readSort(params.get('sort') ?? '').filter(({ column }) => isKnown(column)),
    select: select.length === 0 ? null : select,
    perPage: perPageChoices.find((choice) => choice === perPage) ?? perPageDefault,
    cursor: params.get('cursor'),
  };
}

/** Into an address of the console; another list begins at its first page. */
export function writeGridQuery(params: URLSearchParams, change: Partial<GridQuery>): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete('cursor');
  if (change.filters) {
    next.delete('filter');
    for (const filter of change.filters) next.append('filter', filterText(filter));
  }
  if (change.sort) set(next, 'sort', sortText(change.sort));
  if (change.select !== undefined) set(next, 'select', change.select?.join(',') ?? '');
  if (change.perPage !== undefined) set(next, 'per_page', String(change.perPage));
  if (change.cursor !== undefined) set(next, 'cursor', change.cursor ?? '');
  return next;
}

function set(params: URLSearchParams, name: string, value: string): void {
  if (value === '') params.delete(name);
  else params.set(name, value);
}

export function shownColumns<C extends GridColumn>(
  columns: readonly C[],
  { select }: GridQuery,
): readonly C[] {
  if (select === null) return columns.slice(0, columnsShownMax);
  return columns.filter(({ name }) => select.includes(name));
}

/** The query string of the row API: what is listed, without its pages. */
export function listSearch({ filters, sort }: GridQuery, select: readonly string[] | null): URLSearchParams {
  const search = new URLSearchParams();
  for (const { column, text } of filters) search.append(column, text);
  if (sort.length > 0) search.set('sort', sortText(sort));
  if (select) search.set('select', select.join(','));
  return search;
}

/** One page of it. The id always comes along: it tells which row is meant. */
export function pageSearch(query: GridQuery, shown: readonly GridColumn[]): URLSearchParams {
  const names = shown.map(({ name }) => name);
  const isAll = query.select === null && shown.length < columnsShownMax;
  const search = listSearch(query, isAll ? null : names.includes('id') ? names : ['id', ...names]);
  search.set('per_page', String(query.perPage));
  if (query.cursor !== null) search.set('cursor', query.cursor);
  return search;
}

/** Up, down, not at all; `added` keeps the other keys before it. */
export function sortedBy(sort: readonly SortKey[], column: string, mode: 'alone' | 'added'): SortKey[] {
  const present = sort.find((key) => key.column === column);
  const others = mode === 'added' ? sort.filter((key) => key !== present) : [];
  if (!present) return [...others, { column, descending: false }];
  return present.descending ? others : [...others, { column, descending: true }];
}

function readSort(text: string): SortKey[] {
  return text
    .split(',')
    .filter((item) => item !== '' && item !== '-')
    .map((item) => ({ column: item.replace(/^-/, ''), descending: item.startsWith('-') }));
}

function sortText(sort: readonly SortKey[]): string {
  return sort.map(({ column, descending }) => `${descending ? '-' : ''}${column}`).join(',');
}
