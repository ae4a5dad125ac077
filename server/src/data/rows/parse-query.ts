import {
  type Condition,
  decodeParameter,
  FilterError,
  parseCondition,
  parseTest,
  type Tally,
} from '@svc/contract/filter.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import {
  affectedMax,
  type CountMode,
  conditionsMax,
  countModes,
  groupsPerPageMax,
  pageMax,
  sortKeysMax,
} from '@svc/contract/rows.ts';
import { type Failure, fail, validationError } from '../../core/problem.ts';
import { type AggregateItem, parseAggregates, parseHaving, splitAlias } from './parse-aggregate.ts';
import {
  type ParsedEmbed,
  parseEmbeds,
  parseRelatedParameter,
  type RelatedParameter,
} from './parse-embeds.ts';

export type QueryUse =
  | 'list'
  | 'count'
  | 'aggregate'
  | 'changes'
  | 'history'
  | 'one'
  | 'insert'
  | 'change'
  | 'changeMany';

/** `hasColumn`: a column keeps its meaning where its name is also that of a newer parameter. */
export function parseQuery(
  search: string,
  use: QueryUse,
  hasColumn: (name: string) => boolean = () => false,
  canRelate = false,
): ParsedQuery {
  const query = emptyQuery();
  if (search === '') return query;
  const tally = { tests: 0, notes: query.notes };
  const state: ParseState = { query, use, hasColumn, canRelate, seen: [], tally };
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

interface ParseState {
  query: ParsedQuery;
  use: QueryUse;
  hasColumn: (name: string) => boolean;
  canRelate: boolean;
  seen: string[];
  tally: Tally;
}

export type ParsedQuery = ReturnType<typeof emptyQuery>;

function emptyQuery() {
  return {
    select: null as readonly SelectItem[] | null,
    where: [] as Condition[],
    sort: [] as SortKey[],
    page: null as number | null,
    perPage: null as number | null,
    cursor: null as string | null,
    count: null as CountMode | null,
    onConflict: null as string | null,
    maxAffected: null as number | null,
    dryRun: false,
    snapshot: false,
    distinct: [] as string[],
    search: null as string | null,
    aggregates: [] as AggregateItem[],
    having: [] as Condition[],
    notes: [] as string[],
    related: [] as RelatedParameter[],
    isRelated: false,
  };
}

function parsePair(state: ParseState, pair: string): void {
  const equals = pair.indexOf('=');
  const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals), 'query');
  const value = equals < 0 ? '' : decodeParameter(pair.slice(equals + 1), name);
  const parameter = parameterOf(state, name);
  if (parameter === 'having') {
    state.query.having.push(parseHaving(value, state.tally));
    return;
  }
  if (parameter !== null) {
    if (state.seen.includes(parameter)) throw validationError(name, 'is repeated', 'duplicate');
    state.seen.push(parameter);
    parseParameter(state, parameter, value);
    return;
  }
  const hasConditions = filteredUses.includes(state.use);
  const condition = hasConditions ? parseFilter(state, name, value) : null;
  if (condition) {
    state.query.where.push(condition);
    if (state.canRelate && isRelatedCondition(condition)) state.query.isRelated = true;
    return;
  }
  const related = state.canRelate && name.includes('.') ? parseRelatedParameter(name, value) : null;
  if (!related) throw unknownParameterError(name);
  if (state.query.related.push(related) > conditionsMax)
    throw validationError(name, `a query has at most ${conditionsMax} conditions`, 'too_many');
  state.query.isRelated = true;
}

/** Columns of connectors have names of any form. */
function parseFilter({ hasColumn, tally }: ParseState, name: string, value: string): Condition | null {
  return parseCondition(name, value, tally) ?? (hasColumn(name) ? parseTest(name, value, tally) : null);
}

function isRelatedCondition(condition: Condition): boolean {
  return condition.kind === 'test'
    ? condition.column.includes('.')
    : condition.parts.some(isRelatedCondition);
}

function parameterOf({ use, hasColumn }: ParseState, name: string): string | null {
  if (allowedParameters[use].includes(name)) return name;
  const plain = name.startsWith('_') ? name.slice(1) : name;
  if (!newerParameters[use]?.includes(plain)) return null;
  return plain === name && hasColumn(name) ? null : plain;
}

/** Columns of these names are older: with a leading underscore the parameter is always meant. */
const newerParameters: Partial<Record<QueryUse, readonly string[]>> = {
  list: ['distinct', 'search'],
  count: ['distinct', 'search'],
  aggregate: ['having', 'search'],
  changes: ['snapshot'],
  changeMany: ['max_affected'],
};

const filteredUses: readonly QueryUse[] = ['list', 'count', 'aggregate', 'changes', 'changeMany'];

/** A count accepts the parameters of a list, except the cursor, so that clients can reuse a query string. */
const allowedParameters: Record<QueryUse, readonly string[]> = {
  list: ['select', 'sort', 'page', 'per_page', 'cursor'],
  count: ['select', 'sort', 'page', 'per_page', 'count'],
  aggregate: ['select', 'sort', 'page', 'per_page', 'cursor'],
  changes: ['select'],
  history: ['page', 'per_page'],
  one: ['select'],
  insert: ['on_conflict', 'dry_run'],
  change: ['dry_run'],
  changeMany: ['dry_run'],
};

function parseParameter({ query, use, canRelate }: ParseState, name: string, value: string): void {
  switch (name) {
    case 'select':
      if (use === 'aggregate') query.aggregates = parseAggregates(value);
      else if (canRelate && value.includes('(')) {
        query.select = parseEmbeds(value);
        query.isRelated = true;
      } else query.select = parseSelect(value);
      break;
    case 'distinct':
      query.distinct = parseNames(name, value);
      break;
    case 'search':
      query.search = value;
      break;
    case 'sort':
      query.sort = parseSort(value);
      if (canRelate && value.includes('.')) query.isRelated = true;
      break;
    case 'page':
      query.page = parseNumber(name, value, pageMax);
      break;
    case 'per_page':
      query.perPage = parseNumber(name, value, use === 'aggregate' ? groupsPerPageMax : perPageMax);
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
      query.dryRun = parseBoolean(name, value);
      break;
    case 'snapshot':
      query.snapshot = parseBoolean(name, value);
      break;
    default:
      throw unknownParameterError(name);
  }
}

function parseSelect(text: string): SelectItem[] {
  const keys = new Set<string>();
  return text.split(',').map((item) => {
    const { alias: explicit, rest: column } = splitAlias(item);
    if (column === '') throw validationError('select', 'must have the form a,b or alias:a,b');
    const alias = explicit ?? column;
    if (keys.has(alias)) throw validationError('select', 'has two values with the same key', 'duplicate');
    keys.add(alias);
    return { column, alias };
  });
}

function parseNames(name: string, text: string): string[] {
  const names = text.split(',', sortKeysMax + 1);
  if (names.includes('')) throw validationError(name, 'must have the form a,b');
  if (names.length > sortKeysMax)
    throw validationError(name, `can have at most ${sortKeysMax} columns`, 'too_many');
  return names;
}

export function parseSort(text: string, field = 'sort'): SortKey[] {
  const keys: SortKey[] = [];
  for (const item of text.split(',', sortKeysMax + 1)) {
    const descending = item.startsWith('-');
    const column = descending ? item.slice(1) : item;
    if (column === '') throw validationError(field, 'must have the form a,-b');
    if (keys.length === sortKeysMax)
      throw validationError(field, `can have at most ${sortKeysMax} keys`, 'too_many');
    if (keys.some((key) => key.column === column))
      throw validationError(field, 'contains a column twice', 'duplicate');
    keys.push({ column, descending });
  }
  return keys;
}

function parseNumber(name: string, text: string, max: number): number {
  const number = /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw validationError(name, `must be a whole number from 1 to ${max}`);
  return number;
}

function parseBoolean(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw validationError(name, 'must be true or false');
  return text === 'true';
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
  embed?: ParsedEmbed;
}

export interface SortKey {
  column: string;
  descending: boolean;
}
