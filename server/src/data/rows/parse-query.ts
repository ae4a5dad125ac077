import {
  type Condition,
  decodeParameter,
  FilterError,
  parseCondition,
  type Tally,
} from '@svc/contract/filter.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { affectedMax, type CountMode, countModes, pageMax, sortKeysMax } from '@svc/contract/rows.ts';
import { type Failure, fail, validationError } from '../../core/problem.ts';

export type QueryUse = 'list' | 'count' | 'one' | 'insert' | 'change' | 'changeMany';

/** A column with the name of a newer parameter retains its meaning: the parameter is then written with a leading `_`. */
export function parseQuery(
  search: string,
  use: QueryUse,
  columns: { has(name: string): boolean } = noColumns,
): ParsedQuery {
  const query = emptyQuery();
  if (search === '') return query;
  const state: ParseState = { query, use, columns, seen: [], tally: { tests: 0 } };
  try {
    for (const pair of search.split('&')) if (pair !== '') parsePair(state, pair);
  } catch (error) {
    throw error instanceof FilterError ? validationError(error.field, error.detail, error.code) : error;
  }
  if (query.cursor !== null && query.page !== null) {
    throw validationError('cursor', 'cannot be combined with page');
  }
  return query;
}

const noColumns = new Set<string>();

interface ParseState {
  query: ParsedQuery;
  use: QueryUse;
  columns: { has(name: string): boolean };
  seen: string[];
  tally: Tally;
}

export type ParsedQuery = ReturnType<typeof emptyQuery>;

function emptyQuery() {
  return {
    select: null as SelectItem[] | null,
    where: [] as Condition[],
    sort: [] as SortKey[],
    page: null as number | null,
    perPage: null as number | null,
    cursor: null as string | null,
    count: null as CountMode | null,
    onConflict: null as string | null,
    maxAffected: null as number | null,
    dryRun: false,
  };
}

function parsePair(state: ParseState, pair: string): void {
  const equals = pair.indexOf('=');
  const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals), 'query');
  const value = equals < 0 ? '' : decodeParameter(pair.slice(equals + 1), name);
  const parameter = parameterName(state, name);
  if (parameter !== null) {
    if (state.seen.includes(parameter)) throw validationError(name, 'is repeated', 'duplicate');
    state.seen.push(parameter);
    parseParameter(state.query, parameter, value);
    return;
  }
  const hasConditions = state.use === 'list' || state.use === 'count' || state.use === 'changeMany';
  const condition = hasConditions ? parseCondition(name, value, state.tally) : null;
  if (!condition) throw unknownParameterError(name);
  state.query.where.push(condition);
}

function parameterName({ use, columns }: ParseState, name: string): string | null {
  const allowed = allowedParameters[use];
  if (name.startsWith('_') && newerParameters.includes(name.slice(1)) && allowed.includes(name.slice(1)))
    return name.slice(1);
  if (!allowed.includes(name)) return null;
  return newerParameters.includes(name) && columns.has(name) ? null : name;
}

/** Not reserved: tables may have columns with these names. */
const newerParameters: readonly string[] = ['max_affected'];

/** A count accepts the parameters of a list, except the cursor, so that clients can reuse a query string. */
const allowedParameters: Record<QueryUse, readonly string[]> = {
  list: ['select', 'sort', 'page', 'per_page', 'cursor'],
  count: ['select', 'sort', 'page', 'per_page', 'count'],
  one: ['select'],
  insert: ['on_conflict', 'dry_run'],
  change: ['dry_run'],
  changeMany: ['max_affected', 'dry_run'],
};

function parseParameter(query: ParsedQuery, name: string, value: string): void {
  switch (name) {
    case 'select':
      query.select = parseSelect(value);
      break;
    case 'sort':
      query.sort = parseSort(value);
      break;
    case 'page':
      query.page = parseNumber(name, value, pageMax);
      break;
    case 'per_page':
      query.perPage = parseNumber(name, value, perPageMax);
      break;
    case 'cursor':
      if (value === '') throw validationError(name, 'must not be empty');
      query.cursor = value;
      break;
    case 'count':
      query.count = parseCountMode(value);
      break;
    case 'on_conflict':
      if (value === '') throw validationError(name, 'must name a column');
      query.onConflict = value;
      break;
    case 'max_affected':
      query.maxAffected = parseNumber(name, value, affectedMax);
      break;
    case 'dry_run':
      if (value !== 'true' && value !== 'false') throw validationError(name, 'must be true or false');
      query.dryRun = value === 'true';
      break;
    default:
      throw unknownParameterError(name);
  }
}

const aliasPattern = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

function parseSelect(text: string): SelectItem[] {
  const keys = new Set<string>();
  return text.split(',').map((item) => {
    const colon = item.indexOf(':');
    const column = item.slice(colon + 1);
    const alias = colon < 0 ? column : item.slice(0, colon);
    if (column === '') throw validationError('select', 'must have the form a,b or alias:a,b');
    if (colon >= 0 && !aliasPattern.test(alias)) {
      throw validationError(
        'select',
        'an alias must be a letter followed by at most 62 letters, digits or _',
      );
    }
    if (keys.has(alias)) throw validationError('select', 'has two values with the same key', 'duplicate');
    keys.add(alias);
    return { column, alias };
  });
}

function parseSort(text: string): SortKey[] {
  const keys: SortKey[] = [];
  for (const item of text.split(',', sortKeysMax + 1)) {
    const descending = item.startsWith('-');
    const column = descending ? item.slice(1) : item;
    if (column === '') throw validationError('sort', 'must have the form a,-b');
    if (keys.length === sortKeysMax)
      throw validationError('sort', `can have at most ${sortKeysMax} keys`, 'too_many');
    if (keys.some((key) => key.column === column))
      throw validationError('sort', 'contains a column twice', 'duplicate');
    keys.push({ column, descending });
  }
  return keys;
}

function parseNumber(name: string, text: string, max: number): number {
  const number = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw validationError(name, `must be a whole number from 1 to ${max}`);
  return number;
}

function parseCountMode(text: string): CountMode {
  const mode = countModes.find((each) => each === text);
  if (!mode) throw validationError('count', `must be one of ${countModes.join(', ')}`);
  return mode;
}

export function unknownParameterError(name: string): Failure {
  return fail('unknown_parameter', {
    detail: `Unknown parameter: ${name}.`,
    errors: [{ field: name, code: 'unknown_parameter', detail: 'is unknown here' }],
  });
}

export interface SelectItem {
  column: string;
  alias: string;
}

export interface SortKey {
  column: string;
  descending: boolean;
}
