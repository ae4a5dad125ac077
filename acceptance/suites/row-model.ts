import type { ColumnType } from '../support/rows.ts';
import { compareKeys, type Json, type Value } from './random-values.ts';

/** The expected answer of a query, computed in memory, with SQL's three-valued logic. */
export interface ModelColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
}

export type ModelRow = ReadonlyMap<string, Value | null>;

export type Condition = Test | { kind: 'and' | 'or'; negated: boolean; parts: Condition[] };
export interface Test {
  kind: 'test';
  column: ModelColumn;
  negated: boolean;
  op: Op;
  /** `in` and `between` have several; `like` and `ilike` none. */
  values: Value[];
  pattern?: PatternPart[];
  keyword?: 'null' | 'not_null' | 'true' | 'false';
}
export type PatternPart = { any: true } | { one: true } | { char: string };

export const commonOps = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'between', 'is'] as const;
export const textOps = ['like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas'] as const;
export const jsonOps = ['cs', 'cd', 'hk'] as const;
export const listOps = ['eq', 'neq', 'is', 'cs', 'cd', 'ov'] as const;
export const enumOps = ['eq', 'neq', 'in', 'is'] as const;
export type Op =
  | (typeof commonOps)[number]
  | (typeof textOps)[number]
  | (typeof jsonOps)[number]
  | (typeof listOps)[number];

export interface ModelQuery {
  select: { key: string; column: ModelColumn }[] | null;
  where: Condition[];
  sort: { column: ModelColumn; descending: boolean }[];
}

/** All rows that the query finds, in their order. */
export function answerOf(rows: readonly ModelRow[], id: ModelColumn, query: ModelQuery): ModelRow[] {
  const sort = [...query.sort];
  if (!sort.some(({ column }) => column.name === id.name)) {
    sort.push({ column: id, descending: sort.at(-1)?.descending ?? false });
  }
  return rows
    .filter((row) => query.where.every((condition) => holds(condition, row) === true))
    .sort((a, b) => {
      for (const { column, descending } of sort) {
        const order = compareNullable(column.type, a.get(column.name) ?? null, b.get(column.name) ?? null);
        if (order !== 0) return descending ? -order : order;
      }
      return 0;
    });
}

type Truth = boolean | null;

function holds(condition: Condition, row: ModelRow): Truth {
  if (condition.kind === 'test') {
    const truth = testHolds(condition, row.get(condition.column.name) ?? null);
    return condition.negated ? not(truth) : truth;
  }
  const truths = condition.parts.map((part) => holds(part, row));
  const decisive = condition.kind === 'or';
  const truth = truths.includes(decisive) ? decisive : truths.includes(null) ? null : !decisive;
  return condition.negated ? not(truth) : truth;
}

const not = (truth: Truth): Truth => (truth === null ? null : !truth);

function testHolds(test: Test, value: Value | null): Truth {
  const { op, values, column, pattern = [], keyword } = test;
  if (op === 'is') {
    if (keyword === 'null') return value === null;
    if (keyword === 'not_null') return value !== null;
    return value === (keyword === 'true');
  }
  // No value is in an empty list, not even null.
  if (op === 'in' && values.length === 0) return false;
  if (value === null) return null;
  const [first, second] = values as [Value, Value];
  const order = (other: Value) => compare(column.type, value, other);
  const text = String(value);
  switch (op) {
    case 'eq':
      return order(first) === 0;
    case 'neq':
      return order(first) !== 0;
    case 'gt':
      return order(first) > 0;
    case 'gte':
      return order(first) >= 0;
    case 'lt':
      return order(first) < 0;
    case 'lte':
      return order(first) <= 0;
    case 'in':
      return values.some((each) => order(each) === 0);
    case 'between':
      return order(first) >= 0 && order(second) <= 0;
    case 'like':
      return matches([...text], pattern);
    case 'ilike':
      return matches(
        lower(text),
        pattern.map((part) => ('char' in part ? { char: lower(part.char)[0]! } : part)),
      );
    case 'sw':
      return text.startsWith(String(first));
    case 'ew':
      return text.endsWith(String(first));
    case 'has':
      return text.includes(String(first));
    case 'isw':
      return lowered(text).startsWith(lowered(String(first)));
    case 'iew':
      return lowered(text).endsWith(lowered(String(first)));
    case 'ihas':
      return lowered(text).includes(lowered(String(first)));
    case 'cs':
      return contains(value as Json, first as Json);
    case 'cd':
      return contains(first as Json, value as Json);
    case 'hk':
      return hasKey(value as Json, String(first));
    case 'ov':
      return (value as Json[]).some((item) => (first as Json[]).includes(item));
  }
}

/** Character by character, independent of neighbours; one maps to exactly one. */
function lower(text: string): string[] {
  return [...text].map((char) => (char === 'İ' ? 'i' : char.toLowerCase()));
}
const lowered = (text: string) => lower(text).join('');

function matches(text: readonly string[], pattern: readonly PatternPart[]): boolean {
  let reached = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    for (const at of reached) {
      if ('any' in part) for (let to = at; to <= text.length; to++) next.add(to);
      else if (at < text.length && ('one' in part || text[at] === part.char)) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(text.length);
}

/** Nulls sort last. */
function compareNullable(type: ColumnType, a: Value | null, b: Value | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compare(type, a, b);
}

export function compare(type: ColumnType, a: Value | null, b: Value | null): number {
  if (type === 'jsonb') return compareJson(a as Json, b as Json);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
  const [one, other] = [a, b] as [number, number];
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareLists(a: readonly Json[], b: readonly Json[]): number {
  const items = a
    .slice(0, b.length)
    .map((item, at) => compare(typeof item === 'string' ? 'text' : 'int', item, b[at]!));
  return firstDifference(items) || a.length - b.length;
}

/** PostgreSQL's order of jsonb: null, strings, numbers, booleans, arrays, objects; but the empty array is first. */
function compareJson(a: Json, b: Json): number {
  const [one, other] = [kindOf(a), kindOf(b)];
  if (one < arrayKind && other < arrayKind) return compareInner(a, b);
  if (one !== other) {
    if (isEmptyArray(a) && other < arrayKind) return -1;
    if (isEmptyArray(b) && one < arrayKind) return 1;
  }
  return compareInner(a, b);
}

function compareInner(a: Json, b: Json): number {
  const kind = kindOf(a);
  if (kind !== kindOf(b)) return kind - kindOf(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return a.length - b.length;
    return firstDifference(a.map((item, at) => compareInner(item, b[at]!)));
  }
  if (kind === objectKind) return compareObjects(a as Record<string, Json>, b as Record<string, Json>);
  if (kind === 1) return compare('text', a as string, b as string);
  return Number(a) - Number(b);
}

function compareObjects(a: Record<string, Json>, b: Record<string, Json>): number {
  const [one, other] = [Object.keys(a).sort(compareKeys), Object.keys(b).sort(compareKeys)];
  if (one.length !== other.length) return one.length - other.length;
  return firstDifference(
    one.flatMap((key, at) => [
      compare('text', key, other[at]!),
      key === other[at] ? compareInner(a[key]!, b[key]!) : 0,
    ]),
  );
}

const arrayKind = 4;
const objectKind = 5;
const firstDifference = (orders: number[]) => orders.find((order) => order !== 0) ?? 0;
const isEmptyArray = (value: Json) => Array.isArray(value) && value.length === 0;

function kindOf(value: Json): number {
  if (value === null) return 0;
  if (Array.isArray(value)) return arrayKind;
  return { string: 1, number: 2, boolean: 3, object: objectKind }[typeof value as 'string'];
}

/** `@>`: an array contains each item of the other in any place; alone at the top, a scalar too. */
function contains(whole: Json, part: Json): boolean {
  if (Array.isArray(whole) && kindOf(part) < arrayKind) return whole.some((item) => isSame(item, part));
  return containsInner(whole, part);
}

function containsInner(whole: Json, part: Json): boolean {
  if (kindOf(whole) !== kindOf(part)) return false;
  if (Array.isArray(whole) && Array.isArray(part)) {
    return part.every((wanted) => whole.some((item) => containsInner(item, wanted)));
  }
  if (kindOf(part) < objectKind) return isSame(whole, part);
  const [object, wanted] = [whole, part] as [Record<string, Json>, Record<string, Json>];
  return Object.keys(wanted).every(
    (key) => Object.hasOwn(object, key) && containsInner(object[key]!, wanted[key]!),
  );
}

const isSame = (a: Json, b: Json) =>
  kindOf(a) === kindOf(b) && kindOf(a) < arrayKind && compareInner(a, b) === 0;

function hasKey(value: Json, key: string): boolean {
  if (Array.isArray(value)) return value.includes(key);
  return kindOf(value) === objectKind ? Object.hasOwn(value as object, key) : value === key;
}
