import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import type { InspectedTable } from '@svc/contract/inspection.shapes.ts';
import type { TableRules } from '@svc/contract/table-rules.ts';
import type * as shapes from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { type AppMutationCtx, type AppRef, appRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { renameInRules } from './access.ts';
import { addColumn } from './columns.ts';
import { addIndex } from './indexes.ts';
import { inReferenceOrder } from './references.ts';
import { columnSpec, indexRecord, tableRecord } from './rules.ts';
import { type ColumnRow, findTableRow, listAllTableRows, type TableRow } from './store.ts';
import { createTable } from './tables.ts';
import { updateColumn } from './update-column.ts';

export type TableDefinition = z.output<typeof shapes.createTable.body> & {
  renames?: readonly { from: string; to: string }[];
  indexes?: readonly z.output<typeof shapes.addIndex.body>[];
};

export async function listTableDefinitions(db: Db, app: AppRef): Promise<TableDefinition[]> {
  return (await listAllTableRows(db, app)).map((row) => ({
    ...describeTable(row),
    changes: row.changes,
    history: tableRecord(row).history,
    soft_delete: tableRecord(row).soft_delete,
    access: renamedRules(row),
    columns: row.columns.flatMap((column) => declaredColumns(row, column)),
    renames: row.columns
      .filter((column) => isRenamed(row, column))
      .map((column) => ({ from: column.role, to: column.name })),
  }));
}

/** A copy gets its times under their first names, and is renamed afterwards. */
function renamedRules(row: TableRow): TableRules {
  const first = new Map(
    row.columns.filter((column) => isRenamed(row, column)).map(({ name, role }) => [name, role] as const),
  );
  return renameInRules(row.rules, (name) => first.get(name) ?? name);
}

function describeTable(row: TableRow): z.output<typeof InspectedTable> {
  const { name, description, owner_column, columns } = tableRecord(row);
  const indexes = row.indexes.map((index) => {
    const { id, created_at, ...described } = indexRecord(row, index);
    return described;
  });
  return { name, description, owner_column, columns, indexes };
}

function declaredColumns(row: TableRow, column: ColumnRow): ColumnSpec[] {
  const { role, name, type, default_text } = column;
  if (role === 'plain') return [columnSpec(column)];
  if (role === 'id') return type === 'uuid' && default_text === null ? [] : [columnSpec(column)];
  if (name === role || isRenamed(row, column)) return [];
  return [{ ...columnSpec(column), default: 'now()' }];
}

function isRenamed({ columns }: TableRow, { role, name }: ColumnRow): boolean {
  if (role === 'plain' || role === 'id' || name === role) return false;
  return !columns.some((other) => other.name === role);
}

export async function createTablesFromDefinitions(
  ctx: AppMutationCtx,
  definitions: readonly TableDefinition[],
): Promise<void> {
  const ordered = inReferenceOrder(definitions);
  for (const { table: definition, later } of ordered) {
    const { renames = [], indexes = [], ...table } = definition;
    await createTable(ctx, { ...table, columns: table.columns.filter((column) => !later.has(column)) });
    for (const { from, to } of renames)
      await updateColumn(ctx, { table: table.name, column: from, set: { name: to } });
  }
  for (const { table, later } of ordered)
    for (const column of table.columns)
      if (later.has(column)) await addColumn(ctx, { table: table.name, column });
  for (const { name, indexes = [] } of definitions) {
    // References have theirs.
    const existing = (await findTableRow(ctx.db, appRef(ctx), name))?.indexes ?? [];
    for (const index of indexes)
      if (existing.every((each) => each.name !== index.name)) await addIndex(ctx, { table: name, index });
  }
}

export async function describeTables(db: Db, app: AppRef): Promise<z.output<typeof InspectedTable>[]> {
  return (await listAllTableRows(db, app)).map(describeTable);
}
