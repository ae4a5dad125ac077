import { sql } from 'kysely';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { sqlState, type Tx } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { qualifiedTable } from './catalogue.ts';
import { dropSchemaSql } from './ddl.ts';
import { countAppGrants } from './grants-store.ts';
import { resetTimeouts, run, runStatements, withTableLock } from './physical-lock.ts';
import { lockAppTableRows, lockTableCreation } from './store.ts';

/** Fails with 409 `table_busy` while an export that began earlier still reads a table. */
export async function dropAppTables(ctx: MutationCtx, app: AppRef) {
  const tables = await lockAppTables(ctx, app);
  await ctx.rows.requireSettled(app.appId);
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

const countedBytesMax = 8 * 1024 * 1024;

async function countRows(tx: Tx, table: string): Promise<number> {
  const sized = await sql<{ bytes: number }>`
    select pg_relation_size(oid)::float8 as bytes from pg_class
    where oid = to_regclass(${sql.lit(table)})`.execute(tx);
  const bytes = sized.rows[0]?.bytes;
  // Already dropped in a second database, by an interrupted change of an earlier version.
  if (bytes === undefined) return 0;
  if (bytes > countedBytesMax) return estimateRows(tx, table);
  const counted = await sql<{ rows: number }>`
    select count(*)::int as rows from ${sql.raw(table)}`.execute(tx);
  return counted.rows[0]?.rows ?? 0;
}

async function estimateRows(tx: Tx, table: string): Promise<number> {
  const explained = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] | string }>`
    explain (format json) select from ${sql.raw(table)}`.execute(tx);
  const plan = explained.rows[0]?.['QUERY PLAN'];
  const parsed = typeof plan === 'string' ? JSON.parse(plan) : plan;
  return Math.round(parsed?.[0]?.Plan?.['Plan Rows'] ?? 0);
}
