import { sql } from 'kysely';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import type { Tx } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { dropSchemaSql, physicalTable } from './ddl.ts';
import { countTableGrantsOfApp } from './grants-store.ts';
import { runStatement, runStatements } from './run-statements.ts';
import { lockTableRowsOf, lockTablesOf } from './store.ts';
import { withTableLock } from './with-table-lock.ts';

export interface DroppedTables {
  tables: number;
  /** Counted, or estimated where that would take long. */
  rows: number;
  grants: number;
}

/**
 * The schema of an app with all its tables, for an app that nobody reaches any more; the catalogue goes with the app's
 * own row. Whoever still reads one, an export that began before, is not put out: 409 `table_busy`.
 */
export async function dropTablesOfApp(ctx: MutationCtx, place: AppPlace): Promise<DroppedTables> {
  const tables = await lockAll(ctx, place);
  const grants = await countTableGrantsOfApp(ctx.db, place.tenantId, place.appId);
  const tx = await ctx.rows.tx();
  // Beside a transaction on another server, this one has nothing to do for as long.
  if (ctx.db !== tx) {
    const text = `set local idle_in_transaction_session_timeout = ${besideMsMax}`;
    await runStatement(ctx.db, { text });
  }
  for (const table of tables) {
    await withTableLock(ctx, { table: physicalTable(table), lockOut: 'everyone' }, []);
  }
  // Under those locks nobody waits: there is nobody left who could ask for a row.
  for (const each of new Set([tx, ctx.db])) {
    const text = 'set local lock_timeout to default; set local statement_timeout to default';
    await runStatement(each, { text });
  }
  let rows = 0;
  for (const table of tables) rows += await rowsIn(tx, physicalTable(table));
  await runStatements(tx, dropSchemaSql(place.appId));
  return { tables: tables.length, rows, grants };
}

const besideMsMax = 60_000;

async function lockAll(ctx: MutationCtx, place: AppPlace) {
  try {
    await lockTablesOf(ctx.db, place.appId);
    return await lockTableRowsOf(ctx.db, place);
  } catch (error) {
    // Somebody began to change one before the app was deleted, and takes long.
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  }
}

/** What is read to be counted; of a larger table the planner's estimate is told. */
const countedBytesMax = 8 * 1024 * 1024;

async function rowsIn(tx: Tx, table: string): Promise<number> {
  const sized = await sql<{ bytes: number }>`
    select pg_relation_size(oid)::float8 as bytes from pg_class
    where oid = to_regclass(${sql.lit(table)})`.execute(tx);
  const bytes = sized.rows[0]?.bytes;
  // Gone on the other server by a change that failed on this one.
  if (bytes === undefined) return 0;
  if (bytes > countedBytesMax) return estimated(tx, table);
  const counted = await sql<{ rows: number }>`
    select count(*)::int as rows from ${sql.raw(table)}`.execute(tx);
  return counted.rows[0]?.rows ?? 0;
}

async function estimated(tx: Tx, table: string): Promise<number> {
  const explained = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] | string }>`
    explain (format json) select from ${sql.raw(table)}`.execute(tx);
  const plan = explained.rows[0]?.['QUERY PLAN'];
  // The driver of the control plane leaves JSON as it was written.
  const parsed = typeof plan === 'string' ? JSON.parse(plan) : plan;
  return Math.round(parsed?.[0]?.Plan?.['Plan Rows'] ?? 0);
}
