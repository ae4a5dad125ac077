import { isColumnName } from '@svc/contract/columns.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { type CountMode, countModes, pageMax, sortKeysMax } from '@svc/contract/rows.ts';
import { type Failure, fail, invalid } from '../plumbing/problem.ts';
import { isGroupParameter, parseFilter, parseGroup, type Tally } from './parse-filter.ts';
import type { ParsedQuery, SelectItem, SortKey } from './query-syntax.ts';

/** `change` is an update or a delete of one row, `filter` a filter that is kept: conditions and nothing else. */
export type QueryUse = 'list' | 'count' | 'one' | 'insert' | 'change' | 'filter';

/** Syntax only. `search` is the query string as it came, without the `?`. */
export function parseQuery(search: string, use: QueryUse): ParsedQuery {
  const query = emptyQuery();
  if (search === '') return query;
  const state: State = { query, use, seen: [], tally: { tests: 0 } };
  for (let start = 0; start < search.length; ) {
    const ampersand = search.indexOf('&', start);
    const end = ampersand < 0 ? search.length : ampersand;
    if (end > start) readPair(state, search.slice(start, end));
    start = end + 1;
  }
  if (query.cursor !== null && query.page !== null) {
    throw invalid('cursor', 'stands in place of page, not beside it');
  }
  return query;
}

interface State {
  query: ParsedQuery;
  use: QueryUse;
  /** Parameters that may stand only once. */
  seen: string[];
  tally: Tally;
}

function emptyQuery(): ParsedQuery {
  return {
    select: null,
    where: [],
    sort: [],
    page: null,
    perPage: null,
    cursor: null,
    count: null,
    onConflict: null,
    dryRun: false,
  };
}

function readPair(state: State, pair: string): void {
  const equals = pair.indexOf('=');
  const name = decode(equals < 0 ? pair : pair.slice(0, equals), 'query');
  const value = equals < 0 ? '' : decode(pair.slice(equals + 1), name);
  if (known[state.use].includes(name)) {
    if (state.seen.includes(name)) throw invalid(name, 'is given twice', 'duplicate');
    state.seen.push(name);
    readParameter(state.query, name, value);
  } else if (state.use === 'list' || state.use === 'count' || state.use === 'filter') {
    // In an address a bare name is one with an empty value; what is kept is to be no slip.
    if (equals < 0 && state.use === 'filter')
      throw invalid(name, 'is written column=value or column=op.value');
    readCondition(state, name, value);
  } else {
    throw unknownParameter(name);
  }
}

/**
 * By the spec a count takes what a list takes, though its shape and page do not change the number. Yet a list is never
 * counted, and a cursor is a place in a list: there these two would be ignored, so they are not known.
 */
const known: Record<QueryUse, readonly string[]> = {
  list: ['select', 'sort', 'page', 'per_page', 'cursor'],
  count: ['select', 'sort', 'page', 'per_page', 'count'],
  one: ['select'],
  insert: ['on_conflict', 'dry_run'],
  change: ['dry_run'],
  filter: [],
};

function readParameter(query: ParsedQuery, name: string, value: string): void {
  switch (name) {
    case 'select':
      query.select = selectOf(value);
      break;
    case 'sort':
      query.sort = sortOf(value);
      break;
    case 'page':
      query.page = numberOf(name, value, pageMax);
      break;
    case 'per_page':
      query.perPage = numberOf(name, value, perPageMax);
      break;
    case 'cursor':
      if (value === '') throw invalid(name, 'must not be empty');
      query.cursor = value;
      break;
    case 'count':
      query.count = countModeOf(value);
      break;
    case 'on_conflict':
      if (value === '') throw invalid(name, 'must name a column');
      query.onConflict = value;
      break;
    case 'dry_run':
      if (value !== 'true' && value !== 'false') throw invalid(name, 'is true or false');
      query.dryRun = value === 'true';
      break;
    default:
      throw unknownParameter(name);
  }
}

function readCondition({ query, tally }: State, name: string, value: string): void {
  if (isColumnName(name)) {
    query.where.push(parseFilter(name, value, tally));
  } else if (name === 'filter') {
    const equals = value.indexOf('=');
    if (equals < 1) throw invalid(name, 'is written column=value or column=op.value');
    query.where.push(parseFilter(value.slice(0, equals), value.slice(equals + 1), tally));
  } else if (isGroupParameter(name)) {
    query.where.push(parseGroup(name, value, tally));
  } else {
    throw unknownParameter(name);
  }
}

/** Letters of both cases, since `createdAt:created_at` is what an alias is for. */
const aliasPattern = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

function selectOf(text: string): SelectItem[] {
  const keys = new Set<string>();
  return text.split(',').map((item) => {
    const colon = item.indexOf(':');
    const column = item.slice(colon + 1);
    const alias = colon < 0 ? column : item.slice(0, colon);
    if (column === '') throw invalid('select', 'is written a,b or alias:a,b');
    if (colon >= 0 && !aliasPattern.test(alias)) {
      throw invalid('select', 'an alias is a letter and at most 62 letters, digits and _ after it');
    }
    if (keys.has(alias)) throw invalid('select', 'would give two values the same key', 'duplicate');
    keys.add(alias);
    return { column, alias };
  });
}

function sortOf(text: string): SortKey[] {
  const keys: SortKey[] = [];
  for (const item of text.split(',', sortKeysMax + 1)) {
    const descending = item.startsWith('-');
    const column = descending ? item.slice(1) : item;
    if (column === '') throw invalid('sort', 'is written a,-b');
    if (keys.length === sortKeysMax) throw invalid('sort', `has at most ${sortKeysMax} keys`, 'too_many');
    if (keys.some((key) => key.column === column)) throw invalid('sort', 'names a column twice', 'duplicate');
    keys.push({ column, descending });
  }
  return keys;
}

function numberOf(name: string, text: string, max: number): number {
  const number = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw invalid(name, `is a whole number from 1 to ${max}`);
  return number;
}

function countModeOf(text: string): CountMode {
  const mode = countModes.find((each) => each === text);
  if (!mode) throw invalid('count', `is one of ${countModes.join(', ')}`);
  return mode;
}

/** As forms are encoded: `+` is a space. What is not UTF-8 is refused, never replaced. */
function decode(text: string, field: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw invalid(field, 'is not percent-encoded UTF-8', 'bad_encoding');
  }
}

function unknownParameter(name: string): Failure {
  return fail('unknown_parameter', {
    detail: `Not known here: ${name}.`,
    errors: [{ field: name, code: 'unknown_parameter', detail: 'is not known here' }],
  });
}
