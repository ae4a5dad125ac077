import { columnsPerTableMax } from '@svc/contract/columns.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { appTag, tableTag } from '../../core/tags.ts';
import { addColumnSql, addIndexSql, createTableSql } from './ddl.ts';
import { insertTableGrantRow, listTableGrantRows } from './grants-store.ts';
import { resetTimeouts, runStatements, withTableLock } from './physical-lock.ts';
import { countDeclaredColumns, needsRebuild, planIndex } from './rules.ts';
import {
  insertColumnRows,
  insertIndexRow,
  insertTableRow,
  listAllTableRows,
  type TableRow,
  updateTableRow,
} from './store.ts';

/**
 * Definitions, indexes and the grants to people, without a row. A grant to another app is not copied: that app works with the
 * original. A table that exists gets the columns that it lacks; nothing is dropped. Answers what was added.
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
      added.push(...(await addMissingColumns(ctx, original, copy)));
      continue;
    }
    const table: TableRow = {
      ...original,
      id: ctx.newId(),
      app_id: to.appId,
      version: 1,
      attributes_made: original.columns.length,
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

/** Nullable where no default fills the rows that the copy may have. */
async function addMissingColumns(ctx: MutationCtx, original: TableRow, copy: TableRow): Promise<string[]> {
  const missing = original.columns.filter(({ name }) => copy.columns.every((each) => each.name !== name));
  const isFull = countDeclaredColumns(copy.columns) + missing.length > columnsPerTableMax;
  if (missing.length === 0 || isFull || needsRebuild(copy.attributes_made, missing.length)) return [];
  const columns = missing.map((column, at) => ({
    ...column,
    number: copy.columns_made + at + 1,
    nullable: column.nullable || column.default_text === null,
  }));
  await insertColumnRows(ctx.db, copy, columns);
  await updateTableRow(ctx.db, copy, {
    columns_made: copy.columns_made + columns.length,
    attributes_made: copy.attributes_made + columns.length,
    version: copy.version + 1,
    updated_at: ctx.now,
  });
  const statements = columns.flatMap((column) => addColumnSql(copy, column));
  await withTableLock(ctx, { table: copy, block: 'everyone' }, statements);
  for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
  ctx.invalidate(tableTag(copy.id));
  return columns.map(({ name }) => `${copy.name}.${name}`);
}

async function copyIndexes(ctx: MutationCtx, original: TableRow, table: TableRow): Promise<void> {
  const id = table.columns.find(({ role }) => role === 'id');
  for (const { name, columns: numbers, is_unique } of original.indexes) {
    const columns = numbers.flatMap(
      (number) => table.columns.find((column) => column.number === number) ?? [],
    );
    const plan = planIndex(columns, is_unique ? 'unique' : 'plain', { number: id?.number ?? 0 });
    if (typeof plan === 'string') throw new Error(`The index ${name} of ${table.name} ${plan}.`);
    const index = { id: ctx.newId(), name, columns: numbers, is_unique, created_at: ctx.now };
    await insertIndexRow(ctx.db, table, index);
    await runStatements(await ctx.rows.tx(), addIndexSql(table, index.id, plan));
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
