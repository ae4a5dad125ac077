import { decimalDigits, decimalDigitsMax, enumValues } from '@svc/contract/column-families.ts';
import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { type AggregateFunction, groupsPerPageMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { sqlState } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import type { PlannedCondition } from '../tables/conditions.ts';
import { bindAs, dialectOf, type Values, valuesFor } from './condition-sql.ts';
import type { RowsCtx } from './context.ts';
import type { PageFormat } from './formats.ts';
import { pageResponse, readPage } from './list-rows.ts';
import type { AggregateItem } from './parse-aggregate.ts';
import { type ParsedQuery, parseQuery } from './parse-query.ts';
import {
  type AfterKey,
  columnUseError,
  keyCharsMax,
  type ListPlan,
  type PlannedSort,
  planWhere,
  requireGroupable,
} from './plan.ts';
import {
  canRelate,
  columnRef,
  createOutput,
  hasColumnIn,
  type RowTable,
  requireColumn,
  wholeView,
} from './row-table.ts';
import { searchedTable } from './search-sql.ts';
import { fromClause, pageSql, readFrom, type Statement, whereSql } from './sql.ts';

interface AggregatePlan {
  source: RowTable;
  where: readonly PlannedCondition[];
  items: readonly PlannedItem[];
  groups: ListPlan;
}

interface PlannedItem {
  item: AggregateItem;
  isGroup: boolean;
  of: CatalogueColumn | null;
  column: CatalogueColumn;
}

export function planAggregate(
  source: RowTable,
  query: ParsedQuery,
  readCursor: (table: RowTable, token: string, sort: readonly PlannedSort[]) => readonly AfterKey[],
): AggregatePlan {
  if (query.aggregates.length === 0)
    throw validationError('select', 'is required: select=status,n:count()', 'required');
  const items = query.aggregates.map((item, at) => planItem(source, item, at));
  const table = groupsTable(source, items);
  const sort = planSort(table, items, query);
  return {
    source,
    where: planWhere(source, query.where),
    items,
    groups: {
      table,
      output: table.all,
      where: planWhere(table, query.having),
      distinct: [],
      sort,
      after: query.cursor === null ? null : readCursor(table, query.cursor, sort),
      page: query.page ?? 1,
      perPage: query.perPage ?? groupsPerPageMax,
    },
  };
}

function planItem(source: RowTable, item: AggregateItem, at: number): PlannedItem {
  const of = item.column === null ? null : requireColumn(source, item.column);
  const made = {
    name: item.alias,
    physical: `a${at}`,
    default: null,
    role: 'plain',
    nullable: true,
  } as const;
  const column = { ...made, ...itemType(item, of) };
  return { item, of, column, isGroup: item.kind !== 'value' };
}

type ValueType = Pick<CatalogueColumn, 'type' | 'json' | 'sqlType' | 'hasOtherOrder'>;

function itemType(item: AggregateItem, of: CatalogueColumn | null): ValueType {
  if (item.kind === 'column' && of) return typeOf(requireGroupable(of));
  if (item.kind === 'period' && of) {
    const isDate = of.type === 'date';
    if (!(isDate || of.type === 'timestamptz') || (isDate && (item.part === 'hour' || item.zone !== null))) {
      const what = isDate ? 'hour and time zones do not apply' : `${item.part} does not apply`;
      throw columnUseError(of, `${what} to a column of type ${of.type}`);
    }
    return { type: item.part === 'hour' ? 'timestamptz' : 'date' };
  }
  const name = item.kind === 'value' ? item.name : 'count';
  if (of === null) return { type: 'bigint' };
  const type = functionTypes[name](of);
  if (!type) throw columnUseError(of, `${name} does not apply to a column of type ${of.type}`);
  return type;
}

function typeOf({ type, json, sqlType, hasOtherOrder }: CatalogueColumn): ValueType {
  return {
    type,
    ...(json && { json }),
    ...(sqlType && { sqlType }),
    ...(hasOtherOrder && { hasOtherOrder }),
  };
}

const ordered: readonly ColumnType[] = [
  'text',
  'int',
  'bigint',
  'autonumber',
  'float',
  'timestamptz',
  'date',
];
const hasOrder = ({ type }: CatalogueColumn) =>
  ordered.includes(type) || decimalDigits(type) !== null || enumValues(type) !== null;
const isNumber = ({ type }: CatalogueColumn) =>
  ['number', 'integer', 'decimal'].includes(describeColumnType(type).json);

const functionTypes: Record<AggregateFunction, (column: CatalogueColumn) => ValueType | null> = {
  count: () => ({ type: 'bigint' }),
  count_distinct: (column) => typeOf(requireGroupable(column)) && { type: 'bigint' },
  sum(column) {
    if (column.type === 'int') return { type: 'bigint' };
    // Sums of large integers are exact, and may have more digits than the values.
    if (column.type === 'bigint' || column.type === 'autonumber')
      return { type: 'bigint', sqlType: 'numeric' };
    const decimal = decimalDigits(column.type);
    if (decimal) return { type: `decimal(${decimalDigitsMax},${decimal.scale})` };
    return isNumber(column) ? typeOf(column) : null;
  },
  avg: (column) => (isNumber(column) ? { type: 'float' } : null),
  min: (column) => (hasOrder(column) ? typeOf(column) : null),
  max: (column) => (hasOrder(column) ? typeOf(column) : null),
};

function groupsTable(source: RowTable, items: readonly PlannedItem[]): RowTable {
  const columns = items.map(({ column }) => column);
  const signature = items.map(({ item, of }) => {
    const call =
      item.kind === 'period' ? `${item.part}(${item.zone ?? ''})` : item.kind === 'value' && item.name;
    return `${of?.physical ?? ''}.${call || ''}`;
  });
  const { catalogue } = source;
  return {
    catalogue: { ...catalogue, id: `${catalogue.id} ${signature.join(' ')}` },
    byName: new Map(columns.map((column) => [column.name, column])),
    positions: new Map(),
    from: '',
    all: createOutput(columns.map((column) => ({ column, key: column.name }))),
    key: catalogue.idColumn,
    order: catalogue.idColumn,
    view: wholeView,
  };
}

/** Group columns come last, so that the order is total. */
function planSort(table: RowTable, items: readonly PlannedItem[], { sort }: ParsedQuery): PlannedSort[] {
  const keys = sort.map(({ column, descending }) => ({ column: requireColumn(table, column), descending }));
  const rest = items.filter(({ isGroup, column }) => isGroup && !keys.some((key) => key.column === column));
  const all = [...keys, ...rest.map(({ column }) => ({ column, descending: false }))];
  // Without groups there is one row, but a list always has an order.
  return all.length > 0 ? all : items.slice(0, 1).map(({ column }) => ({ column, descending: false }));
}

/** Groups visible rows. Sorts, pages and conditions on groups are in the outer select, as in a list. */
export function aggregateSql({ source, where, items, groups }: AggregatePlan): Statement {
  const values = valuesFor(source);
  const rows = fromClause(readFrom(source, where, values));
  const selected = items.map((item) => `${itemSql(item, values)} as ${ident(item.column.physical)}`);
  const grouped = items.flatMap(({ isGroup }, at) => (isGroup ? [at + 1] : []));
  const by = grouped.length === 0 ? '' : ` group by ${grouped.join(', ')}`;
  const from = `(select ${selected.join(', ')} from ${rows}${by}) t`;
  return pageSql(groups, { from, conditions: whereSql(groups.where, values) }, values);
}

function itemSql({ item, of }: PlannedItem, values: Values): string {
  const dialect = dialectOf(values);
  const name = of ? columnRef(of) : '';
  if (item.kind === 'period' && of) {
    const zone = item.zone === null ? null : bindAs(values, item.zone, 'text');
    return dialect.startOf(item.part, name, { isDate: of.type === 'date', zone });
  }
  // Texts are compared by their bytes.
  const key = of ? dialect.sortKey(name, of) : '';
  if (item.kind !== 'value') return key;
  switch (item.name) {
    case 'count':
      return `count(${of ? name : '*'})`;
    case 'count_distinct':
      return `count(distinct ${key})`;
    case 'sum':
      return `sum(${name})`;
    case 'avg':
      return `${dialect.double(`sum(${name})`)} / count(${name})`;
    default:
      return `${item.name}(${key})`;
  }
}

function zoneSql(table: RowTable, zone: string): Statement {
  const values = valuesFor(table);
  const name = bindAs(values, zone, 'text');
  return { text: `select convert_tz('2000-01-01 00:00:00', '+00:00', ${name})`, values };
}

export async function aggregateRows(ctx: RowsCtx, format: PageFormat = 'json') {
  const query = parseQuery(ctx.search, 'aggregate', hasColumnIn(ctx.table), canRelate(ctx.table));
  if (query.isRelated)
    throw fail('validation_failed', {
      detail: 'Groups have the rows of one table. Remove related rows from filters and sort.',
    });
  const plan = planAggregate(await searchedTable(ctx, ctx.table, query), query, ctx.cursors.read);
  await requireKnownZones(ctx, plan);
  const page = await readPage(ctx, plan.groups, aggregateSql(plan), format).catch((error: unknown) => {
    if (sqlState(error) === '22003') throw validationError('select', 'has a sum beyond the range of numbers');
    throw error;
  });
  const columns = [...new Set(plan.items.flatMap(({ of }) => of ?? []))];
  const output = createOutput(columns.map((column) => ({ column, key: column.name })));
  ctx.recordRead({ action: 'read', table: plan.source, output, rows: page.rows });
  // There is no row to read a long key from: page numbers still work.
  const hasCursor = page.hasMore && page.lastKeys.every((key) => (key?.length ?? 0) <= keyCharsMax);
  const cursor = hasCursor ? ctx.cursors.write(plan.groups, page.lastKeys) : null;
  return pageResponse({ path: `${ctx.path}/_aggregate`, search: ctx.search }, page, { query, cursor });
}

/** MySQL converts a time to null if the names of time zones are not loaded: all rows would be in one group. */
async function requireKnownZones(ctx: RowsCtx, { items }: AggregatePlan): Promise<void> {
  if (ctx.table.catalogue.foreign?.kind !== 'mysql') return;
  for (const { item } of items) {
    if (item.kind !== 'period' || item.zone === null) continue;
    const { text, values } = zoneSql(ctx.table, item.zone);
    const { rows } = await ctx.rowDb.run('read', text, values);
    if (rows[0]?.[0] == null)
      throw validationError('select', `the data source does not know the time zone ${item.zone}`);
  }
}
