import type { Random } from '../support/random.ts';
import {
  compareNullable,
  groupsOf,
  type HavingTest,
  type ModelGroup,
  type ModelItem,
  parts,
  startOf,
  zones,
} from './aggregate-model.ts';
import { makeQuery } from './random-queries.ts';
import { toAnswerValue, urlText, type Value } from './random-values.ts';
import { answerOf, type ModelColumn, type ModelRow } from './row-model.ts';

/** What a caller sees of a table. */
export interface SeenTable {
  id: ModelColumn;
  columns: readonly ModelColumn[];
  rows: readonly ModelRow[];
}

/** A request below the path of the table, and what the model answers. */
export interface MadeRequest {
  url: string;
  wanted: object[];
}

/** Which functions the values allow: sums of any doubles depend on the order, and old times on forgotten clocks. */
export interface GroupOptions {
  hasFloatSums: boolean;
  hasPeriods: boolean;
}

const groupedTypes = [
  'text',
  'int',
  'bigint',
  'float',
  'bool',
  'timestamptz',
  'uuid',
  'date',
  'decimal(12,2)',
];

export function makeGroups(random: Random, seen: SeenTable, options: GroupOptions): MadeRequest {
  const columns = seen.columns.filter(({ type }) => groupedTypes.includes(type));
  const items = random.times(random.pick([1, 2, 2, 3, 4]), (at) => makeItem(random, columns, at, options));
  const { where, parameters } = makeQuery(random, seen.columns, seen.rows);
  const filters = parameters.filter((pair) => !/^(?:sort|select)=/.test(pair));
  const rows = answerOf(seen.rows, seen.id, { where, sort: [], select: null });
  const all = groupsOf(rows, { items, having: [], sort: [] });
  const having = random.times(random.pick([0, 0, 1, 1, 2]), () => makeHaving(random, items, all));
  const sorted = random.some(items, random.pick([0, 1, 1, 2]));
  const sort = sorted.map((item) => ({ item, descending: random.chance(0.5) }));
  const groups = groupsOf(rows, { items, having, sort });
  const pairs = [
    ['select', items.map(({ key, text }) => `${key}:${text}`).join(',')],
    ...having.map((each) => [random.pick(['having', '_having']), havingText(random, each)]),
    ...(sort.length === 0
      ? []
      : [['sort', sort.map(({ item, descending }) => `${descending ? '-' : ''}${item.key}`).join(',')]]),
  ].map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
  return {
    url: `/_aggregate?${[...pairs, ...filters].join('&')}`,
    wanted: groups.map((group) =>
      Object.fromEntries(items.map((item) => [item.key, groupValue(item, group)])),
    ),
  };
}

export function makeDistinctList(random: Random, seen: SeenTable): MadeRequest {
  const distinct = makeDistinct(random, seen.columns);
  const { where, sort, parameters } = makeQuery(random, seen.columns, seen.rows);
  const filters = parameters.filter((pair) => !pair.startsWith('select='));
  const rows = answerOf(seen.rows, seen.id, { where, sort, select: null });
  return {
    url: `?select=id&${distinct.parameter}&${filters.join('&')}`,
    wanted: distinct.of(rows).map((row) => ({ id: toAnswerValue(seen.id.type, row.get('id')!) })),
  };
}

/** The first row of each combination of values. */
export interface Distinct {
  parameter: string;
  of(rows: readonly ModelRow[]): ModelRow[];
}

export function makeDistinct(random: Random, columns: readonly ModelColumn[]): Distinct {
  const plain = columns.filter(({ type }) => groupedTypes.includes(type));
  const names = random.some(plain, random.pick([1, 1, 2])).map(({ name }) => name);
  return {
    parameter: `${random.pick(['distinct', '_distinct'])}=${names.join(',')}`,
    of: (rows) => {
      const seen = new Set<string>();
      return rows.filter((row) => {
        const values = names.map((name) => row.get(name) ?? null);
        const key = JSON.stringify(values.map((value) => (value === null ? null : String(value))));
        return !seen.has(key) && seen.add(key);
      });
    },
  };
}

const valuesOf = (name: string, rows: readonly ModelRow[]) =>
  rows.flatMap((row) => {
    const value = row.get(name) ?? null;
    return value === null ? [] : [value];
  });

function sum({ name, type }: ModelColumn, rows: readonly ModelRow[]): Value | null {
  const all = valuesOf(name, rows);
  if (all.length === 0) return null;
  if (type === 'float') return all.reduce((a: number, b) => a + Number(b), 0);
  return all.reduce((a: bigint, b) => a + BigInt(b as number), 0n);
}

function makeItem(
  random: Random,
  among: readonly ModelColumn[],
  at: number,
  { hasFloatSums, hasPeriods }: GroupOptions,
): ModelItem {
  const of = random.pick(among);
  const { name, type } = of;
  const value = (text: string, result: ModelItem['type'], compute: ModelItem['of']): ModelItem => ({
    text,
    key: `k${at}`,
    isGroup: false,
    type: result,
    of: compute,
  });
  const extreme = (sign: 1 | -1) => (rows: readonly ModelRow[]) =>
    valuesOf(name, rows).reduce<Value | null>(
      (best, each) => (best === null || compareNullable(type, each, best) * sign > 0 ? each : best),
      null,
    );
  const kinds = ['column', 'column', 'count', 'values', 'distinct'];
  if (type === 'int' || type === 'bigint' || (type === 'float' && hasFloatSums))
    kinds.push('sum', 'sum', 'avg');
  if (type === 'decimal(12,2)') kinds.push('sum', 'sum');
  if (type !== 'bool' && type !== 'uuid') kinds.push('min', 'max');
  if (type === 'timestamptz' && hasPeriods) kinds.push('period', 'period', 'period', 'period', 'period');
  switch (random.pick(kinds)) {
    case 'column':
      return { ...value(name, type, ([row]) => row?.get(name) ?? null), isGroup: true };
    case 'period': {
      const [part, zone] = [random.pick(parts), random.pick(zones)];
      const start = ([row]: readonly ModelRow[]) => {
        const time = row?.get(name) ?? null;
        return time === null ? null : startOf(part, time as bigint, zone);
      };
      const result = part === 'hour' ? 'timestamptz' : 'date';
      return { ...value(`${name}.${part}(${zone})`, result, start), isGroup: true };
    }
    case 'sum': {
      const result = type === 'float' || type === 'decimal(12,2)' ? type : 'bigint';
      return value(`${name}.sum()`, result, (rows) => sum(of, rows));
    }
    case 'avg':
      return value(`${name}.avg()`, 'float', (rows) => {
        const total = sum(of, rows);
        return total === null ? null : Number(total) / valuesOf(name, rows).length;
      });
    case 'min':
      return value(`${name}.min()`, type, extreme(-1));
    case 'max':
      return value(`${name}.max()`, type, extreme(1));
    case 'values':
      return value(`${name}.count()`, 'bigint', (rows) => BigInt(valuesOf(name, rows).length));
    case 'distinct':
      return value(`${name}.count_distinct()`, 'bigint', (rows) =>
        BigInt(new Set(valuesOf(name, rows)).size),
      );
    default:
      return value('count()', 'bigint', (rows) => BigInt(rows.length));
  }
}

const groupValue = ({ type, key }: ModelItem, group: ModelGroup) =>
  toAnswerValue(type, group.get(key) ?? null);

function makeHaving(random: Random, items: readonly ModelItem[], groups: readonly ModelGroup[]): HavingTest {
  const item = random.pick(items);
  const negated = random.chance(0.2);
  const known = groups.length === 0 ? null : (random.pick(groups).get(item.key) ?? null);
  const isTooLarge = typeof known === 'bigint' && BigInt.asIntN(64, known) !== known;
  if (known === null || isTooLarge || random.chance(0.15))
    return { item, negated, value: null, op: random.pick(['is null', 'is not_null']) };
  return { item, negated, value: known, op: random.pick(['eq', 'neq', 'gt', 'gte', 'lt', 'lte']) };
}

function havingText(random: Random, { item, op, negated, value }: HavingTest): string {
  const [word, operand] = op.startsWith('is ')
    ? ['is', op.slice(3)]
    : [op, urlText(item.type, value!, random)];
  return `${item.key}.${negated ? 'not.' : ''}${word}."${operand.replace(/["\\]/g, '\\$&')}"`;
}
