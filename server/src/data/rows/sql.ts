import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import { countCap } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import type { AfterKey, ListPlan, PlannedCondition, PlannedSort, PlannedTest } from './plan.ts';
import { columnRef, type Output, type RowTable } from './row-table.ts';

/** `text` contains names of the catalogue only; values are parameters. */
export interface Statement {
  text: string;
  values: readonly (string | null)[];
}

type Values = (string | null)[];
type Where = readonly PlannedCondition[];

/** Returns the output columns, then the sort keys for the cursor. Reads one row more than the page, for `has_more`. */
export function listSql(plan: ListPlan): Statement {
  const values: Values = [];
  const conditions = whereSql(plan.where, values);
  if (plan.after) conditions.push(afterSql(plan, plan.after, values));
  const keys = plan.sort.map(({ column }) => columnRef(column));
  let text =
    `select ${columnsSql(plan.output, keys)} from ${plan.table.from} t${whereClause(conditions)}` +
    ` order by ${orderSql(plan.sort)} limit ${plan.perPage + 1}`;
  if (plan.page > 1) text += ` offset ${bind(values, String((plan.page - 1) * plan.perPage), 'bigint')}`;
  return { text, values };
}

export function exportSql(plan: ListPlan): Statement {
  const values: Values = [];
  const conditions = whereSql(plan.where, values);
  const text =
    `select ${plan.output.sql} from ${plan.table.from} t` +
    `${whereClause(conditions)} order by ${orderSql(plan.sort)}`;
  return { text, values };
}

export function countSql(table: RowTable, planned: Where): Statement {
  const values: Values = [];
  return {
    text: `select count(*)::text from ${table.from} t${whereClause(whereSql(planned, values))}`,
    values,
  };
}

export function cappedCountSql(table: RowTable, planned: Where): Statement {
  const values: Values = [];
  const inner = `select from ${table.from} t${whereClause(whereSql(planned, values))} limit ${countCap + 1}`;
  return { text: `select count(*)::text from (${inner}) r`, values };
}

export function estimateSql(table: RowTable, planned: Where): Statement {
  const values: Values = [];
  const text = `explain (format json) select from ${table.from} t${whereClause(whereSql(planned, values))}`;
  return { text, values };
}

export function oneSql(table: RowTable, output: Output, planned: Where): Statement {
  const values: Values = [];
  const text = `select ${columnsSql(output, [versionRef])} from ${table.from} t${whereClause(whereSql(planned, values))}`;
  return { text, values };
}

export interface InsertedColumn {
  column: CatalogueColumn;
  value: string | null | { sql: string };
}

export function insertSql(
  table: RowTable,
  inserted: readonly InsertedColumn[],
  version: string,
  returning: Output,
): Statement {
  const values: Values = [];
  const names = inserted.map(({ column }) => ident(column.physical));
  const items = inserted.map(({ column, value }) => valueSql(value, column, values));
  names.push(versionColumn);
  items.push(bind(values, version, 'bigint'));
  const text =
    `insert into ${table.from} as t (${names.join(', ')}) values (${items.join(', ')})` +
    returningSql(table, returning);
  return { text, values };
}

export function updateSql(
  table: RowTable,
  changed: readonly InsertedColumn[],
  planned: Where,
  version: string | null,
): Statement {
  const values: Values = [];
  const sets = changed.map(({ column, value }) => {
    return `${ident(column.physical)} = ${valueSql(value, column, values)}`;
  });
  // An empty update keeps the version.
  sets.push(`${versionColumn} = t.${versionColumn}${sets.length === 0 ? '' : ' + 1'}`);
  const conditions = guardedWhere(planned, version, values);
  const text = `update ${table.from} as t set ${sets.join(', ')}${whereClause(conditions)}${returningSql(table, table.all)}`;
  return { text, values };
}

export function deleteSql(table: RowTable, planned: Where, version: string | null): Statement {
  const values: Values = [];
  const conditions = guardedWhere(planned, version, values);
  const text = `delete from ${table.from} as t${whereClause(conditions)}${returningSql(table, table.all)}`;
  return { text, values };
}

function valueSql(value: InsertedColumn['value'], { type }: CatalogueColumn, values: Values): string {
  return typeof value === 'object' && value !== null ? value.sql : bind(values, value, type);
}

/** Called after the `set` values are bound, because they come first in the text. */
function guardedWhere(planned: Where, version: string | null, values: Values): string[] {
  const conditions = whereSql(planned, values);
  if (version !== null) conditions.push(`t.${versionColumn} = ${bind(values, version, 'bigint')}`);
  return conditions;
}

function returningSql(table: RowTable, output: Output): string {
  return ` returning ${columnsSql(output, [columnRef(table.catalogue.idColumn), versionRef])}`;
}

function columnsSql({ sql }: Output, more: readonly string[]): string {
  return [...(sql === '' ? [] : [sql]), ...more].join(', ');
}

const versionRef = `t.${ident(versionColumn)}`;

function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
}

function orderSql(sort: readonly PlannedSort[]): string {
  return sort.map(({ column, descending }) => `${columnRef(column)}${descending ? ' desc' : ''}`).join(', ');
}

function whereSql(planned: Where, values: Values): string[] {
  return planned.map((condition) => conditionSql(condition, values));
}

function conditionSql(condition: PlannedCondition, values: Values): string {
  if (condition.kind === 'test') {
    const text = testSql(condition, values);
    return condition.negated ? `not (${text})` : text;
  }
  const parts = whereSql(condition.parts, values);
  // An empty `and` is true, an empty `or` is false.
  const text =
    parts.length === 0 ? String(condition.kind === 'and') : `(${parts.join(` ${condition.kind} `)})`;
  return condition.negated ? `not ${text}` : text;
}

const comparisons = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const containments = { cs: '@>', cd: '<@' } as const;

function testSql(test: PlannedTest, values: Values): string {
  const { type } = test.column;
  const name = columnRef(test.column);
  switch (test.op) {
    case 'eq':
    case 'neq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return `${name} ${comparisons[test.op]} ${bind(values, test.value, type)}`;
    case 'cs':
    case 'cd':
      return `${name} ${containments[test.op]} ${bind(values, test.value, type)}`;
    case 'hk':
      return `${name} ? ${bind(values, test.value, 'text')}`;
    case 'in':
      return `${name} = any(${bindArray(values, test.values, type)})`;
    case 'between':
      return `${name} between ${bind(values, test.from, type)} and ${bind(values, test.to, type)}`;
    case 'is':
      return `${name} is ${test.keyword === 'not_null' ? 'not null' : test.keyword}`;
    case 'like':
      return `${name} like ${bind(values, test.value, 'text')}`;
    case 'ilike':
      return `${caseInsensitive(name)} ilike ${bind(values, test.value, 'text')}`;
    case 'sw':
      return `${name} like ${bind(values, `${escapeLike(test.value)}%`, 'text')}`;
    case 'ew':
      return `${name} like ${bind(values, `%${escapeLike(test.value)}`, 'text')}`;
    case 'has':
      return `${name} like ${bind(values, `%${escapeLike(test.value)}%`, 'text')}`;
    case 'isw':
      return `${caseInsensitive(name)} ilike ${bind(values, `${escapeLike(test.value)}%`, 'text')}`;
    case 'iew':
      return `${caseInsensitive(name)} ilike ${bind(values, `%${escapeLike(test.value)}`, 'text')}`;
    case 'ihas':
      return `${caseInsensitive(name)} ilike ${bind(values, `%${escapeLike(test.value)}%`, 'text')}`;
  }
}

/** Columns use the collation "C", which folds the case of ASCII only. */
const caseInsensitive = (name: string) => `${name} collate "default"`;

const escapeLike = (text: string) => text.replace(/[\\%_]/g, '\\$&');

/**
 * Nulls sort as in PostgreSQL. Non-nullable keys of one direction need only a row comparison, which can use
 * an index.
 */
function afterSql({ table, sort }: ListPlan, after: readonly AfterKey[], values: Values): string {
  const bounds = sort.map(({ column }, i) => keyBound(table, column, after[i] ?? null, values));
  const [first] = sort;
  const isPlain = sort.every((key) => !key.column.nullable && key.descending === first?.descending);
  if (isPlain && first) {
    const names = sort.map(({ column }) => columnRef(column));
    return `(${names.join(', ')}) ${first.descending ? '<' : '>'} (${bounds.join(', ')})`;
  }
  const alternatives = sort.flatMap((key, i) => {
    const beyond = beyondSql(key, bounds[i] ?? null);
    if (beyond === null) return [];
    const equal = sort.slice(0, i).map((before, j) => equalSql(before, bounds[j] ?? null));
    return [[...equal, beyond].join(' and ')];
  });
  return alternatives.length === 0 ? 'false' : `(${alternatives.map((text) => `(${text})`).join(' or ')})`;
}

function keyBound(table: RowTable, column: CatalogueColumn, key: AfterKey, values: Values): string | null {
  if (key === null) return null;
  if (typeof key === 'string') return bind(values, key, column.type);
  const { idColumn } = table.catalogue;
  const id = bind(values, key.rowId, idColumn.type);
  return `(select k.${ident(column.physical)} from ${table.from} k where k.${ident(idColumn.physical)} = ${id})`;
}

function beyondSql({ column, descending }: PlannedSort, bound: string | null): string | null {
  const name = columnRef(column);
  if (bound === null) return descending ? `${name} is not null` : null;
  if (descending) return `${name} < ${bound}`;
  return column.nullable ? `(${name} > ${bound} or ${name} is null)` : `${name} > ${bound}`;
}

function equalSql({ column }: PlannedSort, bound: string | null): string {
  return bound === null ? `${columnRef(column)} is null` : `${columnRef(column)} = ${bound}`;
}

function bind(values: Values, value: string | null, type: ColumnType): string {
  values.push(value);
  return `$${values.length}::${describeColumnType(type).sql}`;
}

function bindArray(values: Values, items: readonly (string | null)[], type: ColumnType): string {
  values.push(arrayText(items));
  return `$${values.length}::${describeColumnType(type).sql}[]`;
}

export function arrayText(items: readonly (string | null)[]): string {
  return `{${items.map((item) => (item === null ? 'NULL' : `"${item.replace(/[\\"]/g, '\\$&')}"`)).join(',')}}`;
}
