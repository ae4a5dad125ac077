import { type RawBuilder, sql } from 'kysely';
import { ScimError } from './errors.ts';

/** RFC 7644 §3.4.2.2: paths are in lower case and without the URN of the schema. `values`: one value has all of it. */
export type Filter =
  | { kind: 'and' | 'or'; parts: Filter[] }
  | { kind: 'not'; part: Filter }
  | { kind: 'values'; path: string; filter: Filter }
  | { kind: 'compare'; path: string; op: Op; value: string | boolean | null };

const ops = ['eq', 'ne', 'co', 'sw', 'ew', 'pr', 'gt', 'ge', 'lt', 'le'] as const;
type Op = (typeof ops)[number];

const charsMax = 4_000;
const depthMax = 20;

const filterError = (detail: string) => new ScimError(400, 'invalidFilter', detail);

export function parseFilter(text: string): Filter {
  if (text.length > charsMax) throw filterError(`The filter has more than ${charsMax} characters.`);
  const tokens = tokenize(text);
  const { filter, next } = parseOr(tokens, 0, 0);
  if (next < tokens.length) throw filterError(`Unexpected ${tokens[next]} in the filter.`);
  return filter;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  const pattern = /\s*("(?:[^"\\]|\\.)*"|[()[\]]|[^\s()[\]"]+)\s*/y;
  while (pattern.lastIndex < text.length) {
    const token = pattern.exec(text)?.[1];
    if (token === undefined) throw filterError('The filter is not well-formed.');
    tokens.push(token);
  }
  return tokens;
}

interface Parsed {
  filter: Filter;
  next: number;
}

function parseOr(tokens: readonly string[], at: number, depth: number): Parsed {
  if (depth > depthMax) throw filterError(`The filter is nested more than ${depthMax} levels deep.`);
  return parseList(
    'or',
    (from) => parseList('and', (each) => parseOne(tokens, each, depth), tokens, from),
    tokens,
    at,
  );
}

function parseList(
  kind: 'and' | 'or',
  parsePart: (at: number) => Parsed,
  tokens: readonly string[],
  at: number,
): Parsed {
  const first = parsePart(at);
  const parts = [first.filter];
  let { next } = first;
  while (tokens[next]?.toLowerCase() === kind) {
    const part = parsePart(next + 1);
    parts.push(part.filter);
    next = part.next;
  }
  return { filter: parts.length === 1 ? first.filter : { kind, parts }, next };
}

function parseOne(tokens: readonly string[], at: number, depth: number): Parsed {
  const token = tokens[at] ?? '';
  if (token === '(') return parseEnclosed(tokens, at + 1, depth, ')');
  if (token.toLowerCase() === 'not' && tokens[at + 1] === '(') {
    const { filter, next } = parseEnclosed(tokens, at + 2, depth, ')');
    return { filter: { kind: 'not', part: filter }, next };
  }
  const path = normalizePath(token);
  // `emails[type eq "work"].value eq "…"` and `members[value eq "…"]`.
  if (tokens[at + 1] === '[') {
    const { filter, next } = parseEnclosed(tokens, at + 2, depth, ']');
    const rest = tokens[next];
    if (!rest?.startsWith('.')) return { filter: { kind: 'values', path, filter }, next };
    const outer = parseComparison(tokens, next, rest.slice(1).toLowerCase());
    const both: Filter = { kind: 'and', parts: [filter, outer.filter] };
    return { filter: { kind: 'values', path, filter: both }, next: outer.next };
  }
  return parseComparison(tokens, at, path);
}

function parseEnclosed(tokens: readonly string[], at: number, depth: number, end: ')' | ']'): Parsed {
  const { filter, next } = parseOr(tokens, at, depth + 1);
  if (tokens[next] !== end) throw filterError(`The filter lacks a ${end}.`);
  return { filter, next: next + 1 };
}

function parseComparison(tokens: readonly string[], at: number, path: string): Parsed {
  const op = ops.find((each) => each === tokens[at + 1]?.toLowerCase());
  if (!op) throw filterError(`Expected one of ${ops.join(', ')} after ${path}.`);
  if (op === 'pr') return { filter: { kind: 'compare', path, op, value: null }, next: at + 2 };
  return { filter: { kind: 'compare', path, op, value: parseValue(tokens[at + 2]) }, next: at + 3 };
}

function parseValue(token: string | undefined): string | boolean | null {
  try {
    const value: unknown = JSON.parse(token ?? '');
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
    return String(value);
  } catch {
    const word = token?.toLowerCase();
    if (word === 'true' || word === 'false') return word === 'true';
    throw filterError('A value of the filter is not JSON.');
  }
}

/** Attribute names are not case-sensitive (RFC 7643 §2.1). */
export function normalizePath(text: string): string {
  return text.replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i, '').toLowerCase();
}

export interface FilterColumn {
  sql: RawBuilder<unknown>;
  type: 'text' | 'exact' | 'boolean' | 'list' | 'time';
}
export type FilterColumns = Readonly<Record<string, FilterColumn>>;

/** A path that is no attribute is an error, not false: a client that misspells it must not create duplicates. */
export function filterSql(filter: Filter, columns: FilterColumns): RawBuilder<boolean> {
  if (filter.kind === 'not') return sql`not coalesce(${filterSql(filter.part, columns)}, false)`;
  if (filter.kind === 'values') {
    const list = columns[filter.path];
    if (list?.type !== 'list') throw filterError(`${filter.path} does not have several values.`);
    return sql`exists (select from ${list.sql} as list(each) where ${filterSql(filter.filter, partColumns)})`;
  }
  if (filter.kind !== 'compare') {
    const parts = filter.parts.map((part) => filterSql(part, columns));
    return sql`(${sql.join(parts, filter.kind === 'and' ? sql` and ` : sql` or `)})`;
  }
  const column = columns[filter.path];
  if (column && column.type !== 'list') return compareSql(column, filter);
  // `emails` is short for `emails.value`.
  const end = column ? filter.path.length : filter.path.lastIndexOf('.');
  const path = filter.path.slice(0, end);
  if (end < 0 || columns[path]?.type !== 'list') throw filterError(`Cannot filter by ${filter.path}.`);
  const part = filter.path.slice(end + 1) || 'value';
  return filterSql({ kind: 'values', path, filter: { ...filter, path: part } }, columns);
}

export const addressParts = [
  'formatted',
  'streetAddress',
  'locality',
  'region',
  'postalCode',
  'country',
] as const;
export const valueParts = ['value', 'display', 'type', 'primary', '$ref', ...addressParts] as const;

const partColumns: FilterColumns = Object.fromEntries(
  valueParts.map((part) => {
    const text = sql`list.each ->> ${sql.lit(part)}`;
    const value = sql`case when jsonb_typeof(list.each) = 'string' then list.each #>> '{}' else ${text} end`;
    return [part.toLowerCase(), { sql: part === 'value' ? value : text, type: 'text' }];
  }),
);

const orders = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=`, eq: sql`=`, ne: sql`is distinct from` };

function compareSql(
  column: FilterColumn,
  { op, value }: Extract<Filter, { kind: 'compare' }>,
): RawBuilder<boolean> {
  const isPresent = sql<boolean>`(${column.sql}) is not null`;
  if (value === null) return op === 'eq' ? sql`(${column.sql}) is null` : isPresent;
  if (column.type === 'boolean') {
    if (op !== 'eq' && op !== 'ne') throw filterError(`true and false cannot be compared with ${op}.`);
    const required = typeof value === 'boolean' ? value : value.toLowerCase() === 'true';
    return sql`${column.sql} is ${op === 'ne' ? sql`distinct from` : sql`not distinct from`} ${required}`;
  }
  if (String(value).includes('\0')) return sql`false`;
  if (column.type === 'time') {
    const time = new Date(String(value));
    if (!(op in orders) || Number.isNaN(time.getTime()))
      throw filterError(`A time cannot be compared in this way: ${op}.`);
    // Resources show times in milliseconds.
    return sql`date_trunc('milliseconds', ${column.sql}) ${orders[op as keyof typeof orders]} ${time}`;
  }
  const fold = (text: RawBuilder<unknown>) => (column.type === 'exact' ? text : sql`lower(${text})`);
  const left = fold(sql`(${column.sql})::text`);
  const right = fold(sql`${String(value)}::text`);
  switch (op) {
    case 'pr':
      return isPresent;
    case 'co':
      return sql`strpos(${left}, ${right}) > 0`;
    case 'sw':
      return sql`starts_with(${left}, ${right})`;
    case 'ew':
      return sql`right(${left}, length(${right})) = ${right}`;
    default:
      return sql`${left} collate "C" ${orders[op]} ${right}`;
  }
}

export interface Sort {
  path: string;
  isDescending: boolean;
}

/** RFC 7644 §3.4.2.3: resources without a value are last in ascending and first in descending order, as in PostgreSQL. */
export function sortSql(sort: Sort | null, columns: FilterColumns): RawBuilder<unknown> {
  if (sort === null) return sql``;
  const column = columns[sort.path];
  if (!column || column.type === 'list')
    throw new ScimError(400, 'invalidPath', `Cannot sort by ${sort.path}.`);
  const value = column.type === 'text' ? sql`lower(${column.sql}::text)` : column.sql;
  return sql`${value} ${sort.isDescending ? sql`desc` : sql`asc`},`;
}
