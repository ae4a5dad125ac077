import type { MutationCtx } from '../plumbing/context.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import type { Tx } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import type { Statement } from './ddl.ts';
import { runStatement } from './run-statements.ts';

interface Attempt {
  waitMsMax: number;
  workMsMax: number;
}

/**
 * Who waits for a lock makes all who come later wait behind it, so each attempt is short, with room after it for those
 * who read; and what is done under the lock is bound as well: a reader is held up 1.5 s at the very most. The vacuum of
 * PostgreSQL gives way only to who has waited for a second: that is what the last attempt is for.
 */
const locks: Record<'everyone' | 'writers', { mode: string; attempts: readonly Attempt[] }> = {
  /** Nobody reads or writes meanwhile. */
  everyone: {
    mode: 'access exclusive',
    attempts: [
      ...Array.from({ length: 6 }, () => ({ waitMsMax: 300, workMsMax: 1_000 })),
      { waitMsMax: 1_150, workMsMax: 250 },
    ],
  },
  /** Rows can be read, not written, and nobody who reads waits behind this lock. */
  writers: {
    mode: 'share row exclusive',
    attempts: Array.from({ length: 3 }, () => ({ waitMsMax: 1_300, workMsMax: 20_000 })),
  },
};
const pauseMs = 150;

const timedOut = ['55P03', '57014'];
const deadlocked = '40P01';
const noSuchTable = ['42P01', '3F000'];

export interface LockedOut {
  table: string;
  lockOut: keyof typeof locks;
}

/** Runs the statements on a table of an app while it holds still; 409 `table_busy` where that takes too long. */
export async function withTableLock(
  ctx: MutationCtx,
  { table, lockOut }: LockedOut,
  statements: readonly Statement[],
): Promise<void> {
  const tx = await ctx.rows.tx();
  const { mode, attempts } = locks[lockOut];
  const { workMsMax } = await takeLock(tx, `lock table ${table} in ${mode} mode`, attempts);
  const since = performance.now();
  await limit(tx, workMsMax);
  // Beside a transaction on another server, this one has nothing to do for as long.
  if (ctx.db !== tx && lockOut === 'writers') {
    await run(ctx.db, `set local idle_in_transaction_session_timeout = ${2 * workMsMax}`);
  }
  try {
    for (const statement of statements) await runStatement(tx, statement, workMsMax + 2_000);
  } catch (error) {
    throw timedOut.includes(sqlState(error) ?? '') ? tooLong(error) : error;
  }
  if (lockOut === 'writers') return unlimited(tx);
  // The lock is held until the commit: what is still to be written may not wait long either.
  const left = Math.max(workMsMax - (performance.now() - since), 100);
  for (const each of new Set([tx, ctx.db])) await limit(each, left);
}

async function takeLock(tx: Tx, lock: string, attempts: readonly Attempt[]): Promise<Attempt> {
  let refused: unknown;
  for (const attempt of attempts) {
    if (refused) await Bun.sleep(pauseMs);
    await run(tx, `set local lock_timeout = ${attempt.waitMsMax}; savepoint lock_attempt`);
    try {
      await run(tx, lock);
      await run(tx, 'release savepoint lock_attempt');
      return attempt;
    } catch (error) {
      const state = sqlState(error) ?? '';
      if (![...timedOut, deadlocked, ...noSuchTable].includes(state)) throw error;
      await run(tx, 'rollback to savepoint lock_attempt');
      // Gone on the other server by a change that failed on this one: to drop it, nothing is left to be locked.
      if (noSuchTable.includes(state)) return attempt;
      refused = error;
    }
  }
  throw fail('table_busy', {}, { cause: refused });
}

function tooLong(cause: unknown) {
  const detail = 'It takes longer than readers of the table may be made to wait; nothing was changed.';
  return fail('table_busy', { detail }, { cause });
}

function limit(tx: Tx, ms: number): Promise<void> {
  const whole = Math.ceil(ms);
  return run(tx, `set local lock_timeout = ${whole}; set local statement_timeout = ${whole}`);
}

function unlimited(tx: Tx): Promise<void> {
  return run(tx, 'set local lock_timeout to default; set local statement_timeout to default');
}

function run(tx: Tx, text: string): Promise<void> {
  return runStatement(tx, { text });
}
