import type { ColumnType as BaseType } from '../support/rows.ts';
import type { Value } from './random-values.ts';
import { compare, type ModelRow } from './row-model.ts';

/** Groups of rows, computed in memory. */
export type ResultType = BaseType | 'date';

export interface ModelItem {
  /** As it stands in `select`, without the alias. */
  text: string;
  key: string;
  isGroup: boolean;
  type: ResultType;
  of(rows: readonly ModelRow[]): Value | null;
}

export type ModelGroup = ReadonlyMap<string, Value | null>;

export interface HavingTest {
  item: ModelItem;
  op: 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'is null' | 'is not_null';
  negated: boolean;
  value: Value | null;
}

export function groupsOf(
  rows: readonly ModelRow[],
  { items, having, sort }: { items: readonly ModelItem[]; having: readonly HavingTest[]; sort: GroupSort },
): ModelGroup[] {
  const grouped = items.filter(({ isGroup }) => isGroup);
  const byKey = Map.groupBy(rows, (row) =>
    JSON.stringify(grouped.map((item) => [item.of([row])].map((value) => `${typeof value} ${value}`))),
  );
  const sets = grouped.length === 0 ? [rows] : [...byKey.values()];
  const rest = grouped.filter((item) => !sort.some((key) => key.item === item));
  const keys = [...sort, ...rest.map((item) => ({ item, descending: false }))];
  return sets
    .map((set) => new Map(items.map((item) => [item.key, item.of(set)])))
    .filter((group) => having.every((each) => holds(each, group)))
    .sort((a, b) => {
      for (const { item, descending } of keys) {
        const order = compareNullable(item.type, a.get(item.key) ?? null, b.get(item.key) ?? null);
        if (order !== 0) return descending ? -order : order;
      }
      return 0;
    });
}

export type GroupSort = readonly { item: ModelItem; descending: boolean }[];

export function compareNullable(type: ResultType, a: Value | null, b: Value | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return compare(type === 'date' ? 'text' : type, a, b);
}

function holds({ item, op, negated, value }: HavingTest, group: ModelGroup): boolean {
  const actual = group.get(item.key) ?? null;
  if (op === 'is null' || op === 'is not_null') return ((actual === null) === (op === 'is null')) !== negated;
  if (actual === null || value === null) return false;
  const order = compareNullable(item.type, actual, value);
  const isTrue = {
    eq: order === 0,
    neq: order !== 0,
    gt: order > 0,
    gte: order >= 0,
    lt: order < 0,
    lte: order <= 0,
  }[op];
  return isTrue !== negated;
}

export const parts = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const;
export const zones = [
  '',
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
] as const;

const formats = new Map<string, Intl.DateTimeFormat>();
const locals = new Map<string, number>();

/** The local time as if it were UTC, in milliseconds. */
function localTime(ms: number, zone: string): number {
  const known = locals.get(`${zone} ${ms}`);
  if (known !== undefined) return known;
  let format = formats.get(zone);
  if (!format) {
    const two = '2-digit' as const;
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone === '' ? 'UTC' : zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
    });
    formats.set(zone, format);
  }
  const of = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const local = Date.UTC(of.year!, of.month! - 1, of.day!, of.hour!, of.minute!, of.second!);
  locals.set(`${zone} ${ms}`, local);
  return local;
}

/** A date as text; of an hour microseconds since 1970. */
export function startOf(part: (typeof parts)[number], micros: bigint, zone: string): string | bigint {
  const seconds = Number(micros / 1_000_000n);
  const local = new Date(localTime(seconds * 1000, zone));
  if (part === 'hour')
    return BigInt(seconds - local.getUTCMinutes() * 60 - local.getUTCSeconds()) * 1_000_000n;
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const starts = {
    year: Date.UTC(year, 0, 1),
    quarter: Date.UTC(year, month - (month % 3), 1),
    month: Date.UTC(year, month, 1),
    week: Date.UTC(year, month, day - ((local.getUTCDay() + 6) % 7)),
    day: Date.UTC(year, month, day),
  };
  return new Date(starts[part]).toISOString().slice(0, 10);
}
