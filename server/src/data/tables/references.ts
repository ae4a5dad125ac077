import { refTarget } from '@svc/contract/column-families.ts';
import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import { type AppMutationCtx, appRef, type MutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { fail, validationError } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { buildIndex } from './align-table.ts';
import { runStatements, withTableLock } from './lock-table.ts';
import { addForeignKeySql, dropForeignKeySql } from './references-ddl.ts';
import { defaultIndexName, type NewColumn } from './rules.ts';
import { type ColumnRow, lockTableCreation, lockTableRow, type TableRow } from './store.ts';

export async function resolveReferences<Column extends NewColumn>(
  ctx: AppMutationCtx,
  self: Pick<TableRow, 'id' | 'name'> & { columns: readonly NewColumn[] },
  columns: readonly Column[],
  fieldOf: (at: number) => string,
): Promise<Column[]> {
  if (columns.every(({ type }) => refTarget(type) === null)) return [...columns];
  // Before the locks of tables: two tables that get references to each other do not wait for each other.
  await lockTableCreation(ctx.db, ctx.app.id);
  const resolved: Column[] = [];
  for (const [at, column] of columns.entries()) {
    const name = refTarget(column.type);
    if (name === null) {
      resolved.push(column);
      continue;
    }
    const target =
      name === self.name
        ? { ...self, columns: self.columns.map((each, index) => ({ number: index + 1, ...each })) }
        : await lockTableRow(ctx.db, appRef(ctx), name);
    const id = target?.columns.find(({ role }) => role === 'id');
    if (!target || !id)
      throw validationError(
        fieldOf(at),
        `the app has no table ${name} that it could refer to`,
        'unknown_table',
      );
    ctx.invalidate(tableTag(target.id));
    resolved.push({
      ...column,
      type: id.type,
      ref_table: target.id,
      on_delete: column.on_delete ?? 'restrict',
      target: { name, id_number: id.number },
    });
  }
  await ctx.rows.requireFinished(ctx.app.id);
  return resolved;
}

/** Rows are found by what they refer to: when they are shown with it, and before it is deleted. */
export async function indexReferences(
  ctx: MutationCtx,
  table: TableRow,
  columns: readonly ColumnRow[],
): Promise<TableRow['indexes']> {
  const indexes = [...table.indexes];
  for (const column of columns) {
    if (!column.ref_table) continue;
    const names = indexes.map(({ name }) => name);
    const name = defaultIndexName([column.name], 'plain', names);
    indexes.push(await buildIndex(ctx, table, { name, columns: [column], is_unique: false }));
  }
  return indexes;
}

export async function addForeignKeys(
  ctx: MutationCtx,
  table: Pick<TableRow, 'id' | 'app_id' | 'columns'>,
  columns: readonly ColumnRow[],
): Promise<void> {
  const tx = await ctx.rows.tx();
  for (const column of columns) {
    if (!column.ref_table) continue;
    await runStatements(tx, addForeignKeySql(table, column, { isValid: false })).catch((cause: unknown) => {
      if (sqlState(cause) === '23503')
        throw fail(
          'check_violation',
          { detail: `Rows have values of ${column.name} that ${column.target?.name} has no row for.` },
          { cause },
        );
      throw sqlState(cause) === '55P03' ? fail('table_busy', {}, { cause }) : cause;
    });
  }
}

export async function relinkColumn(ctx: MutationCtx, table: TableRow, before: ColumnRow, after: ColumnRow) {
  const isSame = before.ref_table === after.ref_table && before.on_delete === after.on_delete;
  if (isSame || (!before.ref_table && !after.ref_table)) return;
  if (before.ref_table)
    await withTableLock(ctx, { table, block: 'everyone' }, dropForeignKeySql(table, after.number));
  else await withTableLock(ctx, { table, block: 'writers' }, []);
  if (after.ref_table) await addForeignKeys(ctx, table, [after]);
  const isIndexed = table.indexes.some(({ columns }) => columns[0] === after.number);
  if (after.ref_table && !isIndexed) await indexReferences(ctx, table, [after]);
}

export function requireUnreferenced({ id, name, referenced_by = [] }: TableRow): void {
  const others = referenced_by.filter(({ table_id }) => table_id !== id);
  if (others.length === 0) return;
  const names = others.map(({ table, column }) => `${table}.${column}`).join(', ');
  throw fail('table_in_use', { detail: `Columns refer to ${name}: ${names}. Drop them first.` });
}

type Referring = { name: string; columns?: readonly Pick<ColumnSpec, 'type'>[] | undefined };

/** Tables behind those that they refer to. Of a circle, some columns come `later`, when all tables are there. */
export function inReferenceOrder<Table extends Referring>(
  tables: readonly Table[],
): { table: Table; later: ReadonlySet<unknown> }[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const ordered: { table: Table; later: Set<unknown> }[] = [];
  const state = new Map<Table, 'open' | 'done'>();
  const visit = (table: Table): void => {
    state.set(table, 'open');
    const later = new Set<unknown>();
    for (const column of table.columns ?? []) {
      const target = byName.get(refTarget(column.type) ?? '');
      if (!target || target === table) continue;
      if (!state.has(target)) visit(target);
      if (state.get(target) === 'open') later.add(column);
    }
    state.set(table, 'done');
    ordered.push({ table, later });
  };
  for (const table of tables) if (!state.has(table)) visit(table);
  return ordered;
}
