import type { ColumnSpec } from '@svc/contract/column-spec.ts';
import type { InspectedTable } from '@svc/contract/inspection.shapes.ts';
import type { TableRules } from '@svc/contract/table-rules.ts';
import type * as shapes from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { type AppMutationCtx, type AppRef, appRef, type MutationCtx } from '../../core/context.ts';
import { type Db, sqlState } from '../../core/db.ts';
import { appTag, tableTag } from '../../core/tags.ts';
import { renameInRules } from './access.ts';
import { alignTable, buildIndex, withoutReference } from './align-table.ts';
import { addColumn } from './columns.ts';
import { createTableSql } from './ddl.ts';
import { addIndex } from './indexes.ts';
import { run, runStatements } from './lock-table.ts';
import { inReferenceOrder } from './references.ts';
import { addForeignKeySql, dropForeignKeySql } from './references-ddl.ts';
import { columnSpec, countAttributes, indexRecord, tableRecord } from './rules.ts';
import {
  type ColumnRow,
  findTableRow,
  insertTableGrantRow,
  insertTableRow,
  listAllTableRows,
  listTableGrantRows,
  type TableRow,
  updateColumnRow,
} from './store.ts';
import { createTable } from './tables.ts';
import { updateColumn } from './update-column.ts';

/**
 * Definitions, indexes and the grants to people, without a row. A grant to another app is not copied: that app works with the
 * original. A table that exists gets the columns, values of enums, checks, indexes and options that it lacks; nothing is
 * dropped.
 * Answers what was added.
 */
export async function copyTables(ctx: MutationCtx, { from, to }: { from: AppRef; to: AppRef }) {
  const added: string[] = [];
  await ctx.rows.requireFinished(to.appId);
  const existing = await listAllTableRows(ctx.db, to);
  const originals = await listAllTableRows(ctx.db, from);
  for (const original of originals) {
    const copy = existing.find(({ name }) => name === original.name);
    if (copy) {
      added.push(...(await alignTable(ctx, to, original, copy)));
      continue;
    }
    const table: TableRow = {
      ...original,
      id: ctx.newId(),
      app_id: to.appId,
      version: 1,
      attributes_made: countAttributes(original),
      created_at: ctx.now,
      updated_at: ctx.now,
      columns: original.columns.map(withoutReference),
      indexes: [],
    };
    await insertTableRow(ctx.db, table);
    await runStatements(await ctx.rows.tx(), createTableSql(table, ctx.rows.role));
    await copyIndexes(ctx, original, table);
    await copyGrants(ctx, original, table);
    added.push(table.name);
  }
  await linkTables(ctx, to, originals);
  if (added.length > 0) ctx.invalidate(appTag(to.appId));
  return added;
}

async function linkTables(ctx: MutationCtx, to: AppRef, originals: readonly TableRow[]): Promise<void> {
  if (originals.every(({ columns }) => columns.every(({ ref_table }) => !ref_table))) return;
  const copies = new Map((await listAllTableRows(ctx.db, to)).map((table) => [table.name, table]));
  const tx = await ctx.rows.tx();
  for (const original of originals) {
    const copy = copies.get(original.name);
    for (const source of original.columns) {
      const column = copy?.columns.find(({ name }) => name === source.name);
      const referred = copies.get(source.target?.name ?? '');
      const id = referred?.columns.find(({ role }) => role === 'id');
      if (!copy || !column || !referred || id?.type !== column.type) continue;
      if (column.ref_table && column.ref_table !== referred.id) continue;
      const on_delete = source.on_delete === 'set_null' && !column.nullable ? 'restrict' : source.on_delete;
      const linked: ColumnRow = {
        ...column,
        ref_table: referred.id,
        on_delete: on_delete ?? 'restrict',
        target: { name: referred.name, id_number: id.number },
      };
      if (column.ref_table && column.on_delete === linked.on_delete) continue;
      await run(tx, 'savepoint reference');
      try {
        await runStatements(tx, [
          ...(column.ref_table ? dropForeignKeySql(copy, column.number) : []),
          ...addForeignKeySql(copy, linked, { isValid: false }),
        ]);
      } catch (error) {
        if (!['23503', '55P03'].includes(sqlState(error) ?? '')) throw error;
        await run(tx, 'rollback to savepoint reference');
        continue;
      }
      await updateColumnRow(ctx.db, copy, linked);
      for (const table of [copy, referred]) ctx.invalidate(tableTag(table.id));
    }
  }
}

async function copyIndexes(ctx: MutationCtx, original: TableRow, table: TableRow): Promise<void> {
  for (const { name, columns: numbers, is_unique, search } of original.indexes) {
    const columns = numbers.flatMap(
      (number) => table.columns.find((column) => column.number === number) ?? [],
    );
    await buildIndex(ctx, table, { name, columns, is_unique, search });
  }
}

async function copyGrants(ctx: MutationCtx, original: TableRow, table: TableRow): Promise<void> {
  for (const grant of await listTableGrantRows(ctx.db, original.tenant_id, original.id)) {
    if (grant.principal_type === 'app') continue;
    await insertTableGrantRow(ctx.db, {
      ...grant,
      id: ctx.newId(),
      app_id: table.app_id,
      table_id: table.id,
      created_at: ctx.now,
    });
  }
}

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
