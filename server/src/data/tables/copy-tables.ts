import type { AppRef, MutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { appTag, tableTag } from '../../core/tags.ts';
import { addIndex, alignTable, unlinked } from './align-table.ts';
import { createTableSql } from './ddl.ts';
import { insertTableGrantRow, listTableGrantRows } from './grants-store.ts';
import { run, runStatements } from './physical-lock.ts';
import { addForeignKeySql, dropForeignKeySql } from './references-ddl.ts';
import { countAttributes } from './rules.ts';
import { type ColumnRow, insertTableRow, listAllTableRows, type TableRow, updateColumnRow } from './store.ts';

/**
 * Definitions, indexes and the grants to people, without a row. A grant to another app is not copied: that app works with the
 * original. A table that exists gets the columns, values of enums, checks, indexes and options that it lacks; nothing is
 * dropped.
 * Answers what was added.
 */
export async function copyTables(
  ctx: MutationCtx,
  { from, to }: { from: AppRef; to: AppRef },
): Promise<string[]> {
  const added: string[] = [];
  await ctx.rows.requireSettled(to.appId);
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
      columns: original.columns.map(unlinked),
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

/** A reference that the rows of a copy do not allow is not added. */
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
      // A branch may refer to another table.
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
    await addIndex(ctx, table, { name, columns, is_unique, search });
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
