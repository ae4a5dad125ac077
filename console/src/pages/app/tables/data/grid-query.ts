import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { perPageDefault, perPageMax } from '@svc/contract/limits.ts';
import { type FilterOp, filterOps } from '@svc/contract/rows.ts';
import { useSearchParams } from 'wouter';

export interface GridQuery {
  filters: readonly Filter[];
  /** Full-text search; empty for none. */
  search: string;
  sort: readonly SortKey[];
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

const columnsShownMax = 40;
export const perPageChoices = [25, perPageDefault, 100, perPageMax] as const;

export function readGridQuery(params: URLSearchParams, columns: readonly GridColumn[]): GridQuery {
  const isKnown = (name: string) => columns.some((column) => column.name === name);
  const select = (params.get('select') ?? '')
    .split(',')
    .filter((column) => isKnown(column) && !isRelated({ column }));
  const perPage = Number(params.get('per_page'));
  const search = params.get('search') ?? '';
  return {
    // Unknown columns are ignored: the URL may be older than the schema.
    filters: params.getAll('filter').flatMap((text) => {
      const filter = parseFilter(text);
      return filter && isKnown(filter.column) ? [filter] : [];
    }),
    search,
    // A search cannot be combined with columns of related rows.
    sort: parseSort(params.get('sort') ?? '').filter(
      (key) => isKnown(key.column) && (search === '' || !isRelated(key)),
    ),
    select: select.length === 0 ? null : select,
    perPage: perPageChoices.find((choice) => choice === perPage) ?? perPageDefault,
    cursor: params.get('cursor'),
  };
}

export function writeGridQuery(params: URLSearchParams, change: Partial<GridQuery>): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete('cursor');
  if (change.filters) {
    next.delete('filter');
    for (const filter of change.filters) next.append('filter', formatFilter(filter));
  }
  if (change.search !== undefined) setParam(next, 'search', change.search);
  if (change.sort) setParam(next, 'sort', formatSort(change.sort));
  if (change.select !== undefined) setParam(next, 'select', change.select?.join(',') ?? '');
  if (change.perPage !== undefined) setParam(next, 'per_page', String(change.perPage));
  if (change.cursor !== undefined) setParam(next, 'cursor', change.cursor ?? '');
  return next;
}

function setParam(params: URLSearchParams, name: string, value: string): void {
  if (value === '') params.delete(name);
  else params.set(name, value);
}

export function visibleColumns<C extends GridColumn>(
  columns: readonly C[],
  { select }: GridQuery,
): readonly C[] {
  if (select === null) return columns.slice(0, columnsShownMax);
  return columns.filter(({ name }) => select.includes(name));
}

export function listSearch(
  { filters, sort, search: words }: GridQuery,
  select: readonly string[] | null,
): URLSearchParams {
  const search = new URLSearchParams();
  for (const { column, text } of filters) search.append(column, text);
  if (words !== '') search.set('_search', words);
  if (sort.length > 0) search.set('sort', formatSort(sort));
  if (select) search.set('select', select.join(','));
  return search;
}

export function pageSearch(query: GridQuery, visible: readonly GridColumn[]): URLSearchParams {
  const names = visible.map(({ name }) => name);
  const isAll = query.select === null && visible.length < columnsShownMax;
  const search = listSearch(query, isAll ? null : names.includes('id') ? names : ['id', ...names]);
  search.set('per_page', String(query.perPage));
  if (query.cursor !== null) search.set('cursor', query.cursor);
  return search;
}

export function toggleSort(sort: readonly SortKey[], column: string, mode: 'alone' | 'added'): SortKey[] {
  const present = sort.find((key) => key.column === column);
  const others = mode === 'added' ? sort.filter((key) => key !== present) : [];
  if (!present) return [...others, { column, descending: false }];
  return present.descending ? others : [...others, { column, descending: true }];
}

function parseSort(text: string): SortKey[] {
  return text
    .split(',')
    .filter((item) => item !== '' && item !== '-')
    .map((item) => ({ column: item.replace(/^-/, ''), descending: item.startsWith('-') }));
}

function formatSort(sort: readonly SortKey[]): string {
  return sort.map(({ column, descending }) => `${descending ? '-' : ''}${column}`).join(',');
}

export interface Filter {
  column: string;
  text: string;
}

/** `author.name` is a column of a row that the row refers to. */
export const isRelated = ({ column }: { column: string }) => column.includes('.');

/** The query for calls that have the columns of one table only. */
export function withoutRelated(query: GridQuery): GridQuery {
  const isOwn = (item: { column: string }) => !isRelated(item);
  return { ...query, filters: query.filters.filter(isOwn), sort: query.sort.filter(isOwn) };
}

/** Why the filtered rows cannot be grouped, exported or changed. */
export function whyNotFiltered({ filters }: Pick<GridQuery, 'filters'>): string | null {
  const related = filters.find(isRelated);
  return related
    ? `Groups, sums, exports and changes have the columns of one table. Remove the filter on ${related.column} first.`
    : null;
}

interface Test {
  op: string;
  value: string;
}

interface OperatorChoice {
  op: string;
  label: string;
  hint?: string;
}

const nullOps: OperatorChoice[] = [
  { op: 'is.null', label: 'is null' },
  { op: 'is.not_null', label: 'is not null' },
];
const choices: Partial<Record<FilterOp, OperatorChoice>> = {
  eq: { op: 'eq', label: 'is', hint: 'a value' },
  neq: { op: 'neq', label: 'is not', hint: 'a value' },
  in: { op: 'in', label: 'is one of', hint: '(a,b,"c,d")' },
  gt: { op: 'gt', label: 'is greater than', hint: 'a value' },
  gte: { op: 'gte', label: 'is at least', hint: 'a value' },
  lt: { op: 'lt', label: 'is less than', hint: 'a value' },
  lte: { op: 'lte', label: 'is at most', hint: 'a value' },
  between: { op: 'between', label: 'is between', hint: '(low,high)' },
  ihas: { op: 'ihas', label: 'contains', hint: 'any case' },
  isw: { op: 'isw', label: 'starts with', hint: 'any case' },
  iew: { op: 'iew', label: 'ends with', hint: 'any case' },
  cs: { op: 'cs', label: 'contains JSON', hint: '{"size":3}' },
  hk: { op: 'hk', label: 'has the key', hint: 'size' },
};
const listChoices: Partial<Record<FilterOp, OperatorChoice>> = {
  cs: { op: 'cs', label: 'has all of', hint: '(a,b)' },
  ov: { op: 'ov', label: 'has one of', hint: '(a,b)' },
  eq: { op: 'eq', label: 'is', hint: '(a,b)' },
};
const boolOps: OperatorChoice[] = [
  { op: 'is.true', label: 'is true' },
  { op: 'is.false', label: 'is false' },
];
const asWritten: OperatorChoice = { op: '', label: 'custom', hint: 'not.like.a*' };

export function operatorChoices(type: ColumnType): readonly OperatorChoice[] {
  const suggested = describeColumnType(type).suggestedOperators.flatMap((op) => {
    if (op === 'is') return boolOps;
    return (isArrayType(type) ? listChoices[op] : choices[op]) ?? [];
  });
  return [...suggested, ...nullOps, asWritten];
}

export function parseFilter(text: string): Filter | null {
  const equals = text.indexOf('=');
  return equals < 1 ? null : { column: text.slice(0, equals), text: text.slice(equals + 1) };
}

export const formatFilter = ({ column, text }: Filter) => `${column}=${text}`;

export function parseTest(type: ColumnType, text: string): Test {
  const offered = operatorChoices(type);
  const whole = offered.find(({ op, hint }) => hint === undefined && op === text);
  if (whole) return { op: whole.op, value: '' };
  const dot = text.indexOf('.');
  const op = text.slice(0, Math.max(dot, 0));
  if (op !== '' && offered.some((choice) => choice.op === op && choice.hint !== undefined)) {
    return { op, value: text.slice(dot + 1) };
  }
  const isBare = !filterOps.some((known) => known === op) && op !== 'not';
  return isBare && offered.some((choice) => choice.op === 'eq')
    ? { op: 'eq', value: text }
    : { op: '', value: text };
}

export function formatTest(type: ColumnType, { op, value }: Test): string {
  const choice = operatorChoices(type).find((each) => each.op === op);
  if (!choice || op === '') return value;
  return choice.hint === undefined ? op : `${op}.${value}`;
}

export function filterLabel(type: ColumnType, { column, text }: Filter): string {
  const test = parseTest(type, text);
  const choice = operatorChoices(type).find(({ op }) => op === test.op) ?? asWritten;
  if (choice.op === '') return `${column} ${text}`;
  return choice.hint === undefined ? `${column} ${choice.label}` : `${column} ${choice.label} ${test.value}`;
}

export function useGridQuery(
  columns: readonly GridColumn[],
): [GridQuery, (change: Partial<GridQuery>) => void] {
  const [search, setSearch] = useSearchParams();
  return [readGridQuery(search, columns), (change) => setSearch((now) => writeGridQuery(now, change))];
}
