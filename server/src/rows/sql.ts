import type { ColumnType } from '@svc/contract/columns.ts';
import { countCap } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import type { AfterKey, ListPlan, PlannedCondition, PlannedSort, PlannedTest } from './plan.ts';
import { columnRef, type Output, type RowTable } from './row-table.ts';

/** A statement whose text holds names of the catalogue only; values travel beside it. */
export interface Statement {
  text: string;
  values: readonly (string | null)[];
}

/** How values are bound: all of them travel as text. */
export const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  int: 'int4',
  bigint: 'int8',
  float: 'float8',
  bool: 'bool',
  timestamptz: 'timestamptz',
  uuid: 'uuid',
  jsonb: 'jsonb',
};

/** The columns shown, then the keys that the next page begins after; one row more than the page where there is more. */
export function listSql(plan: ListPlan): Statement {
  const values: (string | null)[] = [];
  const conditions = whereSql(plan.where, values);
  if (plan.after) conditions.push(afterSql(plan.table, plan.sort, plan.after, values));
  let text =
    `select ${columnsSql(
      plan.output,
      plan.sort.map(({ column }) => columnRef(column)),
    )} from ${plan.table.from} t${where(conditions)}` +
    ` order by ${orderSql(plan.sort)} limit ${plan.perPage + 1}`;
  if (plan.page > 1) text += ` offset ${bind(values, String((plan.page - 1) * plan.perPage), 'bigint')}`;
  return { text, values };
}

/** Of an export: the same rows in the same order, all of them. */
export function exportSql(plan: ListPlan): Statement {
  const values: (string | null)[] = [];
  const conditions = whereSql(plan.where, values);
  const text =
    `select ${plan.output.sql} from ${plan.table.from} t` +
    `${where(conditions)} order by ${orderSql(plan.sort)}`;
  return { text, values };
}

export function countSql(table: RowTable, planned: readonly PlannedCondition[]): Statement {
  const values: (string | null)[] = [];
  return { text: `select count(*)::text from ${table.from} t${where(whereSql(planned, values))}`, values };
}

/** Stops one beyond the cap: then there are more. */
export function cappedCountSql(table: RowTable, planned: readonly PlannedCondition[]): Statement {
  const values: (string | null)[] = [];
  const inner = `select from ${table.from} t${where(whereSql(planned, values))} limit ${countCap + 1}`;
  return { text: `select count(*)::text from (${inner}) r`, values };
}

/** What the planner expects, from its statistics. */
export function estimateSql(table: RowTable, planned: readonly PlannedCondition[]): Statement {
  const values: (string | null)[] = [];
  const text = `explain (format json) select from ${table.from} t${where(whereSql(planned, values))}`;
  return { text, values };
}

/** The columns shown, then the version. */
export function oneSql(table: RowTable, output: Output, planned: readonly PlannedCondition[]): Statement {
  const values: (string | null)[] = [];
  const text = `select ${columnsSql(output, [versionRef])} from ${table.from} t${where(whereSql(planned, values))}`;
  return { text, values };
}

export interface InsertedColumn {
  column: CatalogueColumn;
  /** A value to bind, or what the database is to fill in. */
  value: string | null | { sql: string };
}

export function insertSql(
  table: RowTable,
  inserted: readonly InsertedColumn[],
  version: string,
  returning: Output,
): Statement {
  const values: (string | null)[] = [];
  const names = inserted.map(({ column }) => ident(column.physical));
  const items = inserted.map(({ column, value }) =>
    typeof value === 'object' && value !== null ? value.sql : bind(values, value, column.type),
  );
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
  planned: readonly PlannedCondition[],
  version: string | null,
  returning: Output,
): Statement {
  const values: (string | null)[] = [];
  const sets = changed.map(({ column, value }) => {
    const item = typeof value === 'object' && value !== null ? value.sql : bind(values, value, column.type);
    return `${ident(column.physical)} = ${item}`;
  });
  // A change of nothing is none: the row keeps its version.
  sets.push(`${versionColumn} = t.${versionColumn}${sets.length === 0 ? '' : ' + 1'}`);
  const conditions = guarded(planned, version, values);
  const text = `update ${table.from} as t set ${sets.join(', ')}${where(conditions)}${returningSql(table, returning)}`;
  return { text, values };
}

export function deleteSql(
  table: RowTable,
  planned: readonly PlannedCondition[],
  version: string | null,
  returning: Output,
): Statement {
  const values: (string | null)[] = [];
  const conditions = guarded(planned, version, values);
  const text = `delete from ${table.from} as t${where(conditions)}${returningSql(table, returning)}`;
  return { text, values };
}

/** Sets come first in an update's text, so its values do too. */
function guarded(
  planned: readonly PlannedCondition[],
  version: string | null,
  values: (string | null)[],
): string[] {
  const conditions = whereSql(planned, values);
  if (version !== null) conditions.push(`t.${versionColumn} = ${bind(values, version, 'bigint')}`);
  return conditions;
}

/** Of a write: the columns shown, then id and version. */
function returningSql(table: RowTable, output: Output): string {
  return ` returning ${columnsSql(output, [columnRef(table.catalogue.idColumn), versionRef])}`;
}

/** What is shown, then more columns that are not. */
function columnsSql({ sql }: Output, more: readonly string[]): string {
  return [...(sql === '' ? [] : [sql]), ...more].join(', ');
}

const versionRef = `t.${ident(versionColumn)}`;

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
}

function orderSql(sort: readonly PlannedSort[]): string {
  return sort.map(({ column, descending }) => `${columnRef(column)}${descending ? ' desc' : ''}`).join(', ');
}

function whereSql(planned: readonly PlannedCondition[], values: (string | null)[]): string[] {
  return planned.map((condition) => conditionSql(condition, values));
}

function conditionSql(condition: PlannedCondition, values: (string | null)[]): string {
  if (condition.kind === 'test') {
    const text = testSql(condition, values);
    return condition.negated ? `not (${text})` : text;
  }
  const parts = whereSql(condition.parts, values);
  // No part at all: every one of none holds, any of none does not.
  const text =
    parts.length === 0 ? String(condition.kind === 'and') : `(${parts.join(` ${condition.kind} `)})`;
  return condition.negated ? `not ${text}` : text;
}

const comparisons = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const containments = { cs: '@>', cd: '<@' } as const;

function testSql(test: PlannedTest, values: (string | null)[]): string {
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
      return `${folded(name)} ilike ${bind(values, test.value, 'text')}`;
    case 'sw':
      return `${name} like ${bind(values, `${literal(test.value)}%`, 'text')}`;
    case 'ew':
      return `${name} like ${bind(values, `%${literal(test.value)}`, 'text')}`;
    case 'has':
      return `${name} like ${bind(values, `%${literal(test.value)}%`, 'text')}`;
    case 'isw':
      return `${folded(name)} ilike ${bind(values, `${literal(test.value)}%`, 'text')}`;
    case 'iew':
      return `${folded(name)} ilike ${bind(values, `%${literal(test.value)}`, 'text')}`;
    case 'ihas':
      return `${folded(name)} ilike ${bind(values, `%${literal(test.value)}%`, 'text')}`;
  }
}

/** Texts are kept in the order of their bytes, where only ASCII has upper and lower case; the database's own knows more. */
const folded = (name: string) => `${name} collate "default"`;

const literal = (text: string) => text.replace(/[\\%_]/g, '\\$&');

/**
 * Rows after the given one. Nulls come last going up and first going down, as PostgreSQL sorts them. Where no key can
 * be null and all go one way it is one comparison of rows, which an index serves from the middle.
 */
function afterSql(
  table: RowTable,
  sort: readonly PlannedSort[],
  after: readonly AfterKey[],
  values: (string | null)[],
): string {
  const bounds = sort.map((key, i) => boundOf(table, key, after[i] ?? null, values));
  const [first] = sort;
  const isPlain = sort.every(
    ({ column, descending }) => !column.nullable && descending === first?.descending,
  );
  if (isPlain && first) {
    const names = sort.map(({ column }) => columnRef(column));
    return `(${names.join(', ')}) ${first.descending ? '<' : '>'} (${bounds.join(', ')})`;
  }
  const ways = sort.flatMap((key, i) => {
    const beyond = beyondSql(key, bounds[i] ?? null);
    if (beyond === null) return [];
    const equal = sort.slice(0, i).map((before, j) => equalSql(before, bounds[j] ?? null));
    return [[...equal, beyond].join(' and ')];
  });
  return ways.length === 0 ? 'false' : `(${ways.map((way) => `(${way})`).join(' or ')})`;
}

/** What a key is compared with, in the statement's own words; null where the last row had none. */
function boundOf(
  table: RowTable,
  { column }: PlannedSort,
  key: AfterKey,
  values: (string | null)[],
): string | null {
  if (key === null) return null;
  if (typeof key === 'string') return bind(values, key, column.type);
  const { idColumn } = table.catalogue;
  const id = bind(values, key.ofRow, idColumn.type);
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

function bind(values: (string | null)[], value: string | null, type: ColumnType): string {
  values.push(value);
  return `$${values.length}::${sqlTypes[type]}`;
}

function bindArray(values: (string | null)[], items: readonly (string | null)[], type: ColumnType): string {
  values.push(arrayText(items));
  return `$${values.length}::${sqlTypes[type]}[]`;
}

/** PostgreSQL's text of an array; every item quoted, so that nothing in it has a meaning. */
export function arrayText(items: readonly (string | null)[]): string {
  return `{${items.map((item) => (item === null ? 'NULL' : `"${item.replace(/[\\"]/g, '\\$&')}"`)).join(',')}}`;
}
