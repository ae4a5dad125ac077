import { describeColumnType } from '@svc/contract/columns.ts';
import { countCap } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { type EqualityTest, equals, isAlways, type PlannedCondition } from '../tables/conditions.ts';
import {
  bind,
  bindArray,
  bindAs,
  conditionSql,
  dialectOf,
  newRow,
  type Values,
  valuesFor,
} from './condition-sql.ts';
import { type Dialect, postgresDialect } from './dialects.ts';
import type { AfterKey, ListPlan, PlannedSort } from './plan.ts';
import { columnRef, type Join, type Output, type RowTable, type ViewColumn } from './row-table.ts';
import { indexedCondition, searchConditions, vectorItems } from './search.ts';

/** `text` contains names of the catalogue only; values are parameters. */
export interface Statement {
  text: string;
  values: readonly (string | null)[];
}

export type Where = readonly PlannedCondition[];

/** Returns the output columns, then the sort keys for the cursor. Reads one row more than the page, for `has_more`. */
export function listSql(plan: ListPlan): Statement {
  const values = valuesFor(plan.table);
  return pageSql(plan, listFrom(plan, values), values);
}

export function pageSql(plan: ListPlan, source: Source, values: Values): Statement {
  if (plan.after) source.conditions.push(afterSql(plan, plan.after, values));
  const keys = plan.sort.map(({ column }) => columnRef(column));
  let text =
    `select ${columnsSql(plan.output, keys)} from ${fromClause(source)}` +
    ` order by ${orderSql(plan.sort, values)} limit ${plan.perPage + 1}`;
  if (plan.page > 1) {
    values.push(String((plan.page - 1) * plan.perPage));
    text += ` offset ${dialectOf(values).offset(`$${values.length}`)}`;
  }
  return { text, values };
}

export function listFrom(plan: ListPlan, values: Values): Source {
  return distinctFrom(readFrom(plan.table, plan.where, values), plan, values);
}

export function distinctFrom(
  source: Source,
  { distinct, sort }: Pick<ListPlan, 'distinct' | 'sort'>,
  values: Values,
): Source {
  if (distinct.length === 0) return source;
  const { sortKey } = dialectOf(values);
  const keys = distinct.map((column) => sortKey(columnRef(column), column)).join(', ');
  const order = sort.length === 0 ? '' : ` order by ${orderSql(sort, values)}`;
  const rank = `row_number() over (partition by ${keys}${order}) as ${rankColumn}`;
  return { from: `(select t.*, ${rank} from ${fromClause(source)}) t`, conditions: [`t.${rankColumn} = 1`] };
}

const rankColumn = ident('svc rank');

export function exportSql(plan: ListPlan): Statement {
  const values = valuesFor(plan.table);
  const source = listFrom(plan, values);
  // MariaDB selects something even where no column is visible.
  const selected = plan.output.sql || '1';
  return {
    text: `select ${selected} from ${fromClause(source)} order by ${orderSql(plan.sort, values)}`,
    values,
  };
}

type Distinct = ListPlan['distinct'];

export function countSql(table: RowTable, planned: Where, distinct: Distinct = []): Statement {
  const values = valuesFor(table);
  return {
    text: `select ${dialectOf(values).count} from ${countedFrom(table, planned, distinct, values)}`,
    values,
  };
}

function countedFrom(table: RowTable, planned: Where, distinct: Distinct, values: Values): string {
  return fromClause(distinctFrom(readFrom(table, planned, values), { distinct, sort: [] }, values));
}

export function cappedCountSql(table: RowTable, planned: Where, distinct: Distinct = []): Statement {
  const values = valuesFor(table);
  const { count, nothing } = dialectOf(values);
  const inner = `select ${nothing === '' ? '' : `${nothing} `}from ${countedFrom(table, planned, distinct, values)} limit ${countCap + 1}`;
  return { text: `select ${count} from (${inner}) r`, values };
}

export function estimateSql(table: RowTable, planned: Where, distinct: Distinct = []): Statement {
  const values = valuesFor(table);
  const text = `explain (format json) select from ${countedFrom(table, planned, distinct, values)}`;
  return { text, values };
}

export function oneSql(
  table: RowTable,
  output: Output,
  planned: Where,
  more: readonly string[] = [versionIn(table)],
): Statement {
  const values = valuesFor(table);
  const source = readFrom(table, planned, values);
  return { text: `select ${columnsSql(output, more)} from ${fromClause(source)}`, values };
}

/** What the ETag of a row needs beside its representation. Of a connector a null, because MariaDB must select something. */
export const etagColumns = (table: RowTable): readonly string[] =>
  table.view.columns === null || table.catalogue.foreign ? [versionIn(table)] : [];

interface KeyedStatement {
  text: string;
  /** Values of the view come before the values of the key. */
  viewValues: Values;
}

const keyedStatements = new WeakMap<RowTable, KeyedStatement>();

/** All columns of one row. The text is built once for each table: a known text is also found faster among the prepared statements. */
export function rowByKeySql(table: RowTable, key: readonly EqualityTest[]): Statement {
  let known = keyedStatements.get(table);
  if (!known) {
    const { text, values } = oneSql(table, table.all, key, etagColumns(table));
    const viewValues: Values = valuesFor(table);
    viewValues.push(...values.slice(0, values.length - key.length));
    known = { text, viewValues };
    keyedStatements.set(table, known);
  }
  const { encode } = dialectOf(known.viewValues);
  const values: (string | null)[] = [...known.viewValues];
  for (const { column, value } of key) values.push(encode(value, column.type));
  return { text: known.text, values };
}

export function existsSql(table: RowTable, planned: Where): Statement {
  const values = valuesFor(table);
  return { text: `select '1' from ${table.from} t${whereClause(whereSql(planned, values))} limit 1`, values };
}

export function occurringSql(table: RowTable, column: CatalogueColumn, items: readonly string[]): Statement {
  const values = valuesFor(table);
  const { from, conditions } = readFrom(table, [], values);
  const list = bindArray(values, items, column);
  const occurs = `select 1 from ${from}${whereClause([...conditions, `${columnRef(column)} = w.value`])}`;
  return { text: `select w.value::text from unnest(${list}) w(value) where exists (${occurs})`, values };
}

export function violationSql(table: RowTable, ids: readonly string[], check: PlannedCondition): Statement {
  const values = valuesFor(table);
  const { idColumn } = table.catalogue;
  const among = `${columnRef(idColumn)} = any(${bindArray(values, ids, idColumn)})`;
  const isMet = conditionSql(check, values, newRow(columnRef));
  return {
    text: `select '1' from ${table.from} t where ${among} and (${isMet}) is not true limit 1`,
    values,
  };
}

export interface Source {
  from: string;
  conditions: string[];
}

export const fromClause = ({ from, conditions }: Source) => `${from}${whereClause(conditions)}`;

/** The rows and columns that the caller sees, under the name `t`. Nothing outside it can refer to what it hides. */
export function readFrom(table: RowTable, planned: Where, values: Values): Source {
  const { rows, columns } = table.view;
  const visible = isAlways(rows) ? [] : [conditionSql(rows, values)];
  const indexed = indexedCondition(table, values);
  if (indexed !== null) visible.push(indexed);
  const joins = table.joins ? joinsSql(table.joins, values) : '';
  if (columns === null)
    return {
      from: `${table.from} t${joins}`,
      conditions: [...visible, ...whereSql(planned, values), ...searchConditions(table, values)],
    };
  const items = columns.map(
    (column) => `${viewColumnSql(table, column, values)} as ${ident(column.column.physical)}`,
  );
  const version = table.catalogue.foreign ? [] : [versionRef];
  const words = vectorItems(table, values);
  const inner = `select ${[...items, ...version, ...words].join(', ')} from ${table.from} t${whereClause(visible)}`;
  return {
    from: `(${inner}) t${joins}`,
    conditions: [...whereSql(planned, values), ...searchConditions(table, values)],
  };
}

function joinsSql(joins: readonly Join[], values: Values): string {
  return joins
    .map(({ alias, table, from, to }) => {
      const rows = `select t.* from ${fromClause(readFrom(table, [], values))}`;
      return ` left join (${rows}) ${alias} on ${alias}.${ident(to.physical)} = ${columnRef(from)}`;
    })
    .join('');
}

export function viewColumnSql(
  table: RowTable,
  { column, source, cases }: ViewColumn,
  values: Values,
): string {
  const plain = columnRef(source);
  if (cases.length === 0) return plain;
  const context = {
    type: source.type,
    keys: table.view.keys,
    bind: (value: string, sqlType: string) => bindAs(values, value, sqlType),
  };
  const dialect = dialectOf(values);
  const parts = cases.map(({ when, mask }) => ({
    when: isAlways(when) ? 'true' : conditionSql(when, values),
    value: dialect.cast(mask ? dialect.mask(mask, plain, context) : plain, column.type),
  }));
  const [first] = parts;
  const text =
    parts.length === 1 && first?.when === 'true'
      ? first.value
      : `case ${parts.map(({ when, value }) => `when ${when} then ${value}`).join(' ')} end`;
  const isText = describeColumnType(column.type).sql.startsWith('text');
  return isText && dialect === postgresDialect ? `(${text}) collate "C"` : text;
}

export function columnsSql({ sql }: Output, more: readonly string[]): string {
  return [...(sql === '' ? [] : [sql]), ...more].join(', ');
}

export const versionRef = `t.${ident(versionColumn)}`;
/** Rows of a connector have none. */
export const versionIn = ({ catalogue: { foreign } }: RowTable) => (foreign ? 'null' : versionRef);

export function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
}

export function orderSql(sort: readonly PlannedSort[], values: Values): string {
  const { orderBy } = dialectOf(values);
  return sort.map(({ column, descending }) => orderBy(columnRef(column), column, descending)).join(', ');
}

export function whereSql(planned: Where, values: Values): string[] {
  return planned.map((condition) => conditionSql(condition, values));
}

/** Nulls sort as in PostgreSQL. Non-nullable keys of one direction need only a row comparison, which can use an index. */
export function afterSql(
  { table, sort }: Pick<ListPlan, 'table' | 'sort'>,
  after: readonly AfterKey[],
  values: Values,
): string {
  const bounds = sort.map(({ column }, i) => keyBound(table, column, after[i] ?? null, values));
  const [first] = sort;
  const isPlain = sort.every((key) => !key.column.nullable && key.descending === first?.descending);
  const dialect = dialectOf(values);
  if (isPlain && first && sort.every(({ column }) => dialect.sortKey('', column) === '')) {
    const names = sort.map(({ column }) => columnRef(column));
    return `(${names.join(', ')}) ${first.descending ? '<' : '>'} (${bounds.join(', ')})`;
  }
  const alternatives = sort.flatMap((key, i) => {
    const beyond = beyondSql(key, bounds[i] ?? null, dialect);
    if (beyond === null) return [];
    const equal = sort.slice(0, i).map((before, j) => equalSql(before, bounds[j] ?? null, dialect));
    return [[...equal, beyond].join(' and ')];
  });
  return alternatives.length === 0 ? 'false' : `(${alternatives.map((text) => `(${text})`).join(' or ')})`;
}

function keyBound(table: RowTable, column: CatalogueColumn, key: AfterKey, values: Values): string | null {
  if (key === null) return null;
  if (typeof key === 'string') return bind(values, key, column);
  const row = readFrom(table, [equals(table.order, key.rowId)], values);
  return `(select ${columnRef(column)} from ${fromClause(row)})`;
}

function beyondSql(
  { column, descending }: PlannedSort,
  bound: string | null,
  { compare }: Dialect,
): string | null {
  const name = columnRef(column);
  if (bound === null) return descending ? `${name} is not null` : null;
  if (descending) return compare(name, '<', bound, column);
  const isAfter = compare(name, '>', bound, column);
  return column.nullable ? `(${isAfter} or ${name} is null)` : isAfter;
}

function equalSql({ column }: PlannedSort, bound: string | null, { compare }: Dialect): string {
  return bound === null ? `${columnRef(column)} is null` : compare(columnRef(column), '=', bound, column);
}
