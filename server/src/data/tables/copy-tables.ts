import type { AppRef, MutationCtx } from '../../core/context.ts';
import { appTag } from '../../core/tags.ts';
import { addIndex, alignTable } from './align-table.ts';
import { createTableSql } from './ddl.ts';
import { insertTableGrantRow, listTableGrantRows } from './grants-store.ts';
import { runStatements } from './physical-lock.ts';
import { countAttributes } from './rules.ts';
import { insertTableRow, listAllTableRows, type TableRow } from './store.ts';

/**
 * Definitions, indexes and the grants to people, without a row. A grant to another app is not copied: that app works with the
 * original. A table that exists gets the columns, values of enums, checks and indexes that it lacks; nothing is dropped.
 * Answers what was added.
 */
export async function copyTables(
  ctx: MutationCtx,
  { from, to }: { from: AppRef; to: AppRef },
): Promise<string[]> {
  const added: string[] = [];
  const existing = await listAllTableRows(ctx.db, to);
  for (const original of await listAllTableRows(ctx.db, from)) {
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
      indexes: [],
    };
    await insertTableRow(ctx.db, table);
    await runStatements(await ctx.rows.tx(), createTableSql(table, ctx.rows.role));
    await copyIndexes(ctx, original, table);
    await copyGrants(ctx, original, table);
    added.push(table.name);
  }
  if (added.length > 0) ctx.invalidate(appTag(to.appId));
  return added;
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
