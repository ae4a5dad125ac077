import { escapeIdentifier as ident } from 'pg';
import type { PlannedCondition } from '../tables/conditions.ts';
import { conditionSql, dialectOf, type RowRefs, type Values, valuesFor } from './condition-sql.ts';
import type { RowTable } from './row-table.ts';
import type { Statement } from './sql.ts';
import type { InsertedColumn } from './write-sql.ts';

/** Statements that change a row behind a connector. Its columns have no version, and masks do not apply to what is stored. */
type Where = readonly PlannedCondition[];

const foreignName = ({ catalogue: { schema, table } }: RowTable) => `${ident(schema)}.${ident(table)}`;

/** Values without a type: the server takes that of the column. */
function bindPlain(values: Values, { column, value }: InsertedColumn): string {
  if (typeof value === 'object' && value !== null) return value.sql;
  values.push(dialectOf(values).encode(value, column.type));
  return `$${values.length}`;
}

/** The stored columns themselves, as they are called in the other database. */
function foreignWhere(planned: Where, values: Values): string {
  return ` where ${planned.map((condition) => conditionSql(condition, values, byPhysicalName)).join(' and ')}`;
}
const byPhysicalName: RowRefs = { column: ({ physical }) => ident(physical) };

export function lockForeignSql(table: RowTable, planned: Where): Statement {
  const values = valuesFor(table);
  return { text: `select 1 from ${foreignName(table)}${foreignWhere(planned, values)} for update`, values };
}

export function foreignUpdateSql(
  table: RowTable,
  changed: readonly InsertedColumn[],
  planned: Where,
): Statement {
  const values = valuesFor(table);
  const sets = changed.map((change) => `${ident(change.column.physical)} = ${bindPlain(values, change)}`);
  return {
    text: `update ${foreignName(table)} set ${sets.join(', ')}${foreignWhere(planned, values)}`,
    values,
  };
}

export function foreignDeleteSql(table: RowTable, planned: Where): Statement {
  const values = valuesFor(table);
  return { text: `delete from ${foreignName(table)}${foreignWhere(planned, values)}`, values };
}

/** Returns the primary key, where the server can. */
export function foreignInsertSql(table: RowTable, inserted: readonly InsertedColumn[]): Statement {
  const values = valuesFor(table);
  const names = inserted.map(({ column }) => ident(column.physical));
  const items = inserted.map((column) => bindPlain(values, column));
  const { returning, noValues } = dialectOf(values);
  const row = names.length === 0 ? noValues : `(${names.join(', ')}) values (${items.join(', ')})`;
  const keys = table.catalogue.foreign?.keys.map(({ physical }) => ident(physical)) ?? [];
  return { text: `insert into ${foreignName(table)} ${row}${returning(keys)}`, values };
}

export function lastIdSql(table: RowTable): Statement {
  return { text: 'select last_insert_id()', values: valuesFor(table) };
}
