import { escapeIdentifier as ident } from 'pg';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { bind, bindAs, conditionSql, newRow, storedRow, type Values, valuesFor } from './condition-sql.ts';
import { columnRef, type Output, type RowTable } from './row-table.ts';
import { type Statement, versionRef, viewColumnSql, type Where, whereClause, whereSql } from './sql.ts';

export interface InsertedColumn {
  column: CatalogueColumn;
  value: string | null | { sql: string };
}

/** With a check the row is inserted only if its values meet it. */
export function insertSql(
  table: RowTable,
  inserted: readonly InsertedColumn[],
  { version, returning, check }: { version: string; returning: Output; check?: PlannedCondition },
): Statement {
  const values = valuesFor(table);
  const names = inserted.map(({ column }) => ident(column.physical));
  const items = inserted.map(({ column, value }) => valueSql(value, column, values));
  names.push(versionColumn);
  items.push(bindAs(values, version, 'int8'));
  const row =
    check === undefined || isAlways(check)
      ? `values (${items.join(', ')})`
      : `select x.* from (select ${items.map((item, at) => `${item} as ${names[at]}`).join(', ')}) x` +
        ` where ${conditionSql(
          check,
          values,
          newRow(({ physical }) => `x.${ident(physical)}`),
        )}`;
  const insert = `insert into ${table.from} as t (${names.join(', ')}) ${row}`;
  return { text: returningSql(insert, table, returning, values, { isInsert: true }), values };
}

export interface GuardedRow {
  where: Where;
  /** Must be true of the row before and after the change. */
  allowed: PlannedCondition;
  /** Returns the stored id too, behind the other values. */
  returnsId?: boolean;
}

/**
 * The rows that the caller sees, that match, and that they may change; then their stored ids. Locked in the order of the ids,
 * so that two such statements do not wait for each other. The conditions stand beside the table itself: PostgreSQL checks them
 * again on a row that changed while the lock was awaited, which it does not do for a subquery.
 */
export function lockSql(
  table: RowTable,
  { where, allowed }: GuardedRow,
  options: { output: Output; changed: readonly InsertedColumn[] | null; rowsMax: number },
): Statement {
  const values = valuesFor(table);
  const { rows } = table.view;
  const id = columnRef(table.catalogue.idColumn);
  const seen = seenColumn(table, values);
  const items = options.output.columns.map(({ column }) => seen(column));
  const conditions = isAlways(rows) ? [] : [conditionSql(rows, values)];
  for (const condition of where) conditions.push(conditionSql(condition, values, { column: seen }));
  if (!isAlways(allowed)) {
    const next = options.changed && nextValue(options.changed, values);
    conditions.push(conditionSql(allowed, values, { ...storedRow, ...(next && { new: next }) }));
  }
  const text =
    `select ${[...items, `${id}::text`].join(', ')} from ${table.from} as t${whereClause(conditions)}` +
    ` order by ${id} limit ${options.rowsMax} for update`;
  return { text, values };
}

export function updateSql(
  table: RowTable,
  changed: readonly InsertedColumn[],
  row: GuardedRow,
  version: string | null,
): Statement {
  const values = valuesFor(table);
  const sets = changed.map(({ column, value }) => {
    return `${ident(column.physical)} = ${valueSql(value, column, values)}`;
  });
  // An empty update keeps the version.
  sets.push(`${versionColumn} = t.${versionColumn}${sets.length === 0 ? '' : ' + 1'}`);
  const conditions = guardedWhere(table, row, { version, values, next: nextValue(changed, values) });
  const update = `update ${table.from} as t set ${sets.join(', ')}${whereClause(conditions)}`;
  return { text: returningSql(update, table, table.all, values, row), values };
}

function nextValue(changed: readonly InsertedColumn[], values: Values) {
  return (column: CatalogueColumn) => {
    const change = changed.find((each) => each.column === column);
    return change ? valueSql(change.value, column, values) : columnRef(column);
  };
}

export function deleteSql(table: RowTable, row: GuardedRow, version: string | null): Statement {
  const values = valuesFor(table);
  const conditions = guardedWhere(table, row, { version, values });
  const statement = `delete from ${table.from} as t${whereClause(conditions)}`;
  return { text: returningSql(statement, table, table.all, values, row), values };
}

function valueSql(value: InsertedColumn['value'], column: CatalogueColumn, values: Values): string {
  return typeof value === 'object' && value !== null ? value.sql : bind(values, value, column);
}

/** Called after the `set` values are bound, because they come first in the text. */
function guardedWhere(
  { view, catalogue }: RowTable,
  { where, allowed }: GuardedRow,
  {
    version,
    values,
    next,
  }: { version: string | null; values: Values; next?: (column: CatalogueColumn) => string },
): string[] {
  const conditions = whereSql(where, values);
  if (!isAlways(allowed)) {
    const guards = [conditionSql(allowed, values, { ...storedRow, ...(next && { new: next }) })];
    if (next) guards.push(conditionSql(allowed, values, { column: next, old: columnRef, new: next }));
    const guard = guards.join(' and ');
    // Citus takes the table out of a statement whose condition is false without looking at rows, as one of bound values can be.
    // With a query around the change that is an error: there, the condition depends on the row.
    const isChangeOnly = view.columns === null;
    conditions.push(
      isChangeOnly ? guard : `(case when ${columnRef(catalogue.idColumn)} is not null then ${guard} end)`,
    );
  }
  if (version !== null) conditions.push(`t.${versionColumn} = ${bindAs(values, version, 'int8')}`);
  return conditions;
}

/**
 * The columns as the caller sees them, the id, the version, and whether they see the row at all. Masks are applied outside the
 * change: Citus refuses functions in `returning` that are not immutable. So is the filter of an insert, whose `returning` gets no
 * bound values there.
 */
function returningSql(
  change: string,
  table: RowTable,
  output: Output,
  values: Values,
  { returnsId = false, isInsert = false }: Pick<GuardedRow, 'returnsId'> & { isInsert?: boolean } = {},
): string {
  const { rows, columns } = table.view;
  const seen = seenColumn(table, values);
  const items = columns === null ? output.sql : output.columns.map(({ column }) => seen(column)).join(', ');
  const isVisible = isAlways(rows) ? `'true'` : `(${conditionSql(rows, values)})::text`;
  const id = returnsId ? [`${columnRef(table.catalogue.idColumn)}::text`] : [];
  const list = [...(items === '' ? [] : [items]), seen(table.key), versionRef, isVisible, ...id].join(', ');
  return columns === null && (isAlways(rows) || !isInsert)
    ? `${change} returning ${list}`
    : `with t as (${change} returning t.*) select ${list} from t`;
}

function seenColumn(table: RowTable, values: Values) {
  return (column: CatalogueColumn) => {
    const view = table.view.columns?.find((each) => each.column === column);
    return view ? viewColumnSql(table, view, values) : columnRef(column);
  };
}
