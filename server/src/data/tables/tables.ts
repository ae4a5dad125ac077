import { tablesPerAppMax } from '@svc/contract/columns.ts';
import { isOpenToChanges, presetOf } from '@svc/contract/table-rules.ts';
import type { createTable as shape, updateTable as updateTableShape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import { sqlState, type Tx } from '../../core/db.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { appTag, tableTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import { newTableRules, requireDroppable, requireRenamable, warnIfGranted } from './access.ts';
import { alterTable } from './alter-table.ts';
import { qualifiedTable } from './catalogue.ts';
import { createLogSql, dropLogSql, hasHistory, indexLogSql, isLogged } from './change-log.ts';
import { parseColumns } from './columns.ts';
import { createTableSql, dropSchemaSql, dropTableSql } from './ddl.ts';
import {
  auditTable,
  enableStorageForFiles,
  lockTable,
  requireTable,
  resetTimeouts,
  run,
  runStatements,
  saveTableChange,
  withTableLock,
} from './lock-table.ts';
import { addForeignKeys, indexReferences, requireUnreferenced, resolveReferences } from './references.ts';
import {
  describeLostLog,
  ownerColumnProblem,
  parseDays,
  requireNotArchived,
  tableAudit,
  tableRecord,
  withServiceColumns,
} from './rules.ts';
import {
  type ColumnRow,
  countAppGrants,
  countGrantsByTable,
  countTableRows,
  countTables,
  deleteTableRow,
  estimateTableRows,
  findTableRow,
  findTableSize,
  insertTableRow,
  listTableGrantRows,
  listTableRows,
  lockAppTableRows,
  lockTableCreation,
  type TableGrantRow,
  type TableRow,
} from './store.ts';

export async function listTables(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listTableRows(ctx.db, appRef(ctx), pageWindow(query));
  const grants = await countGrantsByTable(ctx.db, appRef(ctx));
  const records = rows.map((row) => ({
    ...tableRecord(row),
    grants: grants.get(row.id) ?? 0,
    access: presetOf(row.rules) ?? ('custom' as const),
    open_to_changes: isOpenToChanges(row.rules),
  }));
  return toPage(query, records, total);
}

export async function getTable(ctx: AppCtx, input: { table: string }) {
  return tableRecord(await requireTable(ctx, input.table));
}

export const hasTables = async (ctx: AppCtx) => (await countTables(ctx.db, appRef(ctx))) > 0;

export async function createTable(ctx: AppMutationCtx, input: z.output<typeof shape.body>) {
  await lockTableCreation(ctx.db, ctx.app.id);
  await ctx.rows.requireFinished(ctx.app.id);
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  const declared = parseColumns(input.columns);
  const id = ctx.newId();
  const all = withServiceColumns(declared);
  const own = all.findIndex(({ name }) => name === declared[0]?.name);
  const resolved = await resolveReferences(
    ctx,
    { id, name: input.name, columns: all },
    all,
    (at) => `columns.${at - own}.type`,
  );
  const columns = resolved.map((column, at) => ({ number: at + 1, ...column }));
  await requireFreeName(ctx, input.name);
  if ((await countTables(ctx.db, appRef(ctx))) >= tablesPerAppMax) {
    throw fail('limit_reached', { detail: `An app can have at most ${tablesPerAppMax} tables.` });
  }
  const row: TableRow = {
    id,
    tenant_id: ctx.tenant.id,
    app_id: ctx.app.id,
    name: input.name,
    description: input.description,
    owner_column: ownerColumnNumber(columns, input.owner_column),
    rules: newTableRules(columns, input),
    changes: input.changes ?? false,
    history_days: parseDays(input.history ?? null),
    soft_delete_days: parseDays(input.soft_delete ?? null),
    version: 1,
    columns_made: columns.length,
    attributes_made: columns.length,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
    columns,
    indexes: [],
  };
  await enableStorageForFiles(ctx, columns);
  await warnIfGranted(ctx, row.name);
  await insertTableRow(ctx.db, row);
  await runStatements(await ctx.rows.tx(), createTableSql(row, ctx.rows.role));
  await addForeignKeys(ctx, row, columns);
  row.indexes = await indexReferences(ctx, row, columns);
  const access = presetOf(row.rules) ?? row.rules;
  auditTable(ctx, 'tables.create', row, null, { ...tableAudit(row), access });
  ctx.invalidate(appTag(ctx.app.id));
  ctx.invalidate(tableTag(row.id));
  return tableRecord(row);
}

async function requireFreeName(ctx: AppMutationCtx, name: string): Promise<void> {
  if (await findTableRow(ctx.db, appRef(ctx), name)) {
    throw fail('unique_violation', { detail: `Table ${name} already exists.` });
  }
}

function ownerColumnNumber(columns: readonly ColumnRow[], ownerColumn: string | null): number | null {
  if (ownerColumn === null) return null;
  const column = columns.find(({ name }) => name === ownerColumn);
  const problem = ownerColumnProblem(column);
  if (problem !== null) throw validationError('owner_column', problem);
  return column?.number ?? null;
}

export async function updateTable(
  ctx: AppMutationCtx,
  input: { table: string; set: z.output<typeof updateTableShape.body> },
) {
  const row = await lockTable(ctx, input.table);
  const { set } = input;
  const { name, description, changes, history_days, soft_delete_days } = row;
  const before = { name, description, changes, history_days, soft_delete_days };
  const after = {
    name: set.name ?? name,
    description: set.description ?? description,
    changes: set.changes ?? changes,
    history_days: set.history === undefined ? history_days : parseDays(set.history),
    soft_delete_days: set.soft_delete === undefined ? soft_delete_days : parseDays(set.soft_delete),
  };
  auditTable(ctx, 'tables.update', row, before, after);
  if (isDeepEqual(before, after)) return tableRecord(row);
  for (const text of describeLostLog(row, after)) ctx.warnOfLoss(text);
  if (after.name !== before.name) {
    await requireFreeName(ctx, after.name);
    await requireRenamable(ctx, row);
    await warnIfGranted(ctx, after.name);
    ctx.invalidate(appTag(ctx.app.id));
  }
  const saved = { ...row, ...after, ...(await saveTableChange(ctx, row, after)) };
  if (isLogged(saved) !== isLogged(row)) await alterLog(ctx, saved);
  else if (hasHistory(saved) && !hasHistory(row)) await indexLog(ctx, saved);
  return tableRecord(saved);
}

async function indexLog(ctx: AppMutationCtx, row: TableRow): Promise<void> {
  await withTableLock(ctx, { table: row, block: 'writers' }, indexLogSql(row));
}

/** Caller must hold the lock of the table. */
async function alterLog(ctx: AppMutationCtx, row: TableRow): Promise<void> {
  if (isLogged(row))
    await withTableLock(ctx, { table: row, block: 'writers' }, createLogSql(row, ctx.rows.role));
  else await alterTable(ctx, row, dropLogSql(row));
}

export async function dropTable(ctx: AppMutationCtx, input: { table: string }): Promise<undefined> {
  const row = await lockTable(ctx, input.table);
  await requireDroppable(ctx, row);
  requireUnreferenced(row);
  const grants = await listTableGrantRows(ctx.db, ctx.tenant.id, row.id);
  await deleteTableRow(ctx.db, row);
  ctx.invalidate(appTag(ctx.app.id));
  ctx.invalidate(tableTag(row.id));
  await withTableLock(ctx, { table: row, block: 'everyone' }, []);
  const tx = await ctx.rows.tx();
  const lost = {
    ...tableAudit(row),
    ...(grants.length > 0 && { grants: grants.map(formatGrant) }),
    rows: await countLostRows(tx, qualifiedTable(row)),
  };
  auditTable(ctx, 'tables.drop', row, lost, null);
  await runStatements(tx, dropTableSql(row));
}

const formatGrant = ({ principal_type, principal_id, actions }: TableGrantRow) =>
  `${principal_type} ${principal_id}: ${actions.join(', ')}`;

const countedMax = 10_000;
/** Counting happens under the lock, so larger tables use the planner's estimate. */
const countedBytesMax = 32 * 1024 * 1024;

async function countLostRows(tx: Tx, table: string): Promise<number | string> {
  const size = await findTableSize(tx, table);
  if (!size) return 0;
  if (size.bytes > countedBytesMax) return size.estimate > 0 ? `about ${size.estimate}` : 'many';
  const rows = await countTableRows(tx, table, countedMax + 1);
  return rows > countedMax ? `at least ${countedMax}` : rows;
}

/** Fails with 409 `table_busy` while an export that began earlier still reads a table. */
export async function dropAppTables(ctx: MutationCtx, app: AppRef) {
  const tables = await lockAppTables(ctx, app);
  await ctx.rows.requireFinished(app.appId);
  const grants = await countAppGrants(ctx.db, app.tenantId, app.appId);
  const tx = await ctx.rows.tx();
  // With a separate data server, the control transaction is idle meanwhile.
  if (ctx.db !== tx) await run(ctx.db, `set local idle_in_transaction_session_timeout = ${idleMsMax}`);
  for (const table of tables) await withTableLock(ctx, { table, block: 'everyone' }, []);
  for (const each of new Set([tx, ctx.db])) await resetTimeouts(each);
  let rows = 0;
  for (const table of tables) rows += await countRows(tx, qualifiedTable(table));
  await runStatements(tx, dropSchemaSql(app.appId));
  return { tables: tables.length, rows, grants };
}

const idleMsMax = 60_000;

async function lockAppTables(ctx: MutationCtx, app: AppRef) {
  try {
    await lockTableCreation(ctx.db, app.appId);
    return await lockAppTableRows(ctx.db, app);
  } catch (error) {
    // A schema change that began before the app was deleted is still running.
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  }
}

const countedOfAppBytesMax = 8 * 1024 * 1024;

async function countRows(tx: Tx, table: string): Promise<number> {
  const size = await findTableSize(tx, table);
  // Already dropped in a second database, by an interrupted change of an earlier version.
  if (!size) return 0;
  return size.bytes > countedOfAppBytesMax ? estimateTableRows(tx, table) : countTableRows(tx, table, null);
}
