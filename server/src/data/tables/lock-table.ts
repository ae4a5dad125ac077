import { isFileType } from '@svc/contract/file-type.ts';
import { CompiledQuery } from 'kysely';
import { recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AuditedChange,
  appRef,
  type MutationCtx,
  type RowTx,
} from '../../core/context.ts';
import { sqlState, type Tx } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { enableStorageForApp, isStorageEnabled } from '../storage/storage.ts';
import { qualifiedTable, type TableId } from './catalogue.ts';
import type { Statement } from './ddl.ts';
import { requireNotArchived } from './rules.ts';
import { type ColumnRow, findTableRow, lockTableRow, type TableRow, updateTableRow } from './store.ts';

export async function requireTable(ctx: AppCtx, ref: string): Promise<TableRow> {
  const row = orNotFound(await findTableRow(ctx.db, appRef(ctx), ref));
  return row;
}

/** Every schema change starts here. Lock order: the row in the catalogue, then the physical table. */
export async function lockTable(ctx: AppMutationCtx, ref: string): Promise<TableRow> {
  const row = await lockTableRow(ctx.db, appRef(ctx), ref).catch((error: unknown) => {
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  });
  await ctx.rows.requireFinished(ctx.app.id);
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  if (!row) throw fail('not_found');
  return row;
}

export async function saveTableChange(
  ctx: AppMutationCtx,
  row: TableRow,
  set: Partial<
    Pick<
      TableRow,
      | 'name'
      | 'description'
      | 'rules'
      | 'changes'
      | 'history_days'
      | 'soft_delete_days'
      | 'columns_made'
      | 'attributes_made'
    >
  > = {},
): Promise<Pick<TableRow, 'version' | 'updated_at'> & typeof set> {
  const saved = { ...set, version: row.version + 1, updated_at: ctx.now };
  await updateTableRow(ctx.db, row, saved);
  ctx.invalidate(tableTag(row.id));
  return saved;
}

/** Files are objects of the app's storage. */
export async function enableStorageForFiles(
  ctx: AppMutationCtx,
  columns: readonly Pick<ColumnRow, 'type'>[],
): Promise<void> {
  if (!columns.some(({ type }) => isFileType(type)) || (await isStorageEnabled(ctx.db, appRef(ctx)))) return;
  await enableStorageForApp(ctx, ctx.app);
}

export function requireColumn(row: TableRow, name: string): ColumnRow {
  const column = row.columns.find((each) => each.name === name);
  if (!column) throw fail('not_found', { detail: `The table has no column ${name}.` });
  return column;
}

export function auditTable(
  ctx: AppMutationCtx,
  action: string,
  { id, name }: Pick<TableRow, 'id' | 'name'>,
  before: AuditedChange['before'],
  after: AuditedChange['after'],
): void {
  ctx.audit({ action, appId: ctx.app.id, target: { kind: 'table', id, name }, before, after });
}

interface Attempt {
  waitMsMax: number;
  workMsMax: number;
}

/** Readers queue behind a waiting lock request: attempts are short, the last one longer than `deadlock_timeout` (1 s). */
const locks: Record<'everyone' | 'writers', { mode: string; attempts: readonly Attempt[] }> = {
  everyone: {
    mode: 'access exclusive',
    attempts: [
      ...Array.from({ length: 6 }, () => ({ waitMsMax: 300, workMsMax: 1_000 })),
      { waitMsMax: 1_150, workMsMax: 250 },
    ],
  },
  writers: {
    mode: 'share row exclusive',
    attempts: Array.from({ length: 3 }, () => ({ waitMsMax: 1_300, workMsMax: 20_000 })),
  },
};
const lockPauseMs = 150;

const timeoutCodes = ['55P03', '57014'];
const deadlockCode = '40P01';
const missingTableCodes = ['42P01', '3F000'];

export async function withTableLock(
  ctx: MutationCtx,
  { table, block }: { table: TableId; block: keyof typeof locks },
  statements: readonly Statement[],
): Promise<void> {
  const tx = await ctx.rows.tx();
  const { mode, attempts } = locks[block];
  const { workMsMax } = await takeLock(tx, `lock table ${qualifiedTable(table)} in ${mode} mode`, attempts);
  const since = performance.now();
  await setTimeouts(tx, workMsMax);
  if (ctx.db !== tx && block === 'writers') {
    await run(ctx.db, `set local idle_in_transaction_session_timeout = ${2 * workMsMax}`);
  }
  try {
    for (const statement of statements) await runStatement(tx, statement, workMsMax + 2_000);
  } catch (cause) {
    if (!timeoutCodes.includes(sqlState(cause) ?? '')) throw cause;
    const detail = 'The change would block readers of the table for too long. Nothing was changed.';
    throw fail('table_busy', { detail }, { cause });
  }
  if (block === 'writers') return resetTimeouts(tx);
  // The lock is held until the commit, so the remaining statements of both transactions are limited too.
  const left = Math.max(workMsMax - (performance.now() - since), 100);
  for (const each of new Set([tx, ctx.db])) await setTimeouts(each, left);
}

async function takeLock(tx: Tx, lock: string, attempts: readonly Attempt[]): Promise<Attempt> {
  let lastError: unknown;
  for (const attempt of attempts) {
    if (lastError) await Bun.sleep(lockPauseMs);
    await run(tx, `set local lock_timeout = ${attempt.waitMsMax}; savepoint lock_attempt`);
    try {
      await run(tx, lock);
      await run(tx, 'release savepoint lock_attempt');
      return attempt;
    } catch (error) {
      const state = sqlState(error) ?? '';
      if (![...timeoutCodes, deadlockCode, ...missingTableCodes].includes(state)) throw error;
      await run(tx, 'rollback to savepoint lock_attempt');
      // Already dropped in a second database, by an interrupted change of an earlier version.
      if (missingTableCodes.includes(state)) return attempt;
      lastError = error;
    }
  }
  throw fail('table_busy', {}, { cause: lastError });
}

function setTimeouts(tx: Tx, ms: number): Promise<void> {
  const limit = Math.ceil(ms);
  return run(tx, `set local lock_timeout = ${limit}; set local statement_timeout = ${limit}`);
}

export function resetTimeouts(tx: Tx): Promise<void> {
  return run(tx, 'set local lock_timeout to default; set local statement_timeout to default');
}

export function run(tx: Tx, text: string): Promise<void> {
  return runStatement(tx, { text });
}

export async function runStatements(tx: Tx, statements: readonly Statement[]): Promise<void> {
  for (const statement of statements) await runStatement(tx, statement);
}

export async function runStatement(tx: RowTx, { text, values }: Statement, msMax?: number): Promise<void> {
  const query = msMax === undefined ? text : ({ text, query_timeout: msMax } as unknown as string);
  await tx.executeQuery(CompiledQuery.raw(query, [...(values ?? [])]));
  tx.statements?.add(values ? { text, values } : { text });
}
