import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';

/** A transaction that holds something while the git host is asked: it may be silent for as long as that takes. */
export async function whileAsking<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx);
    const value = await work(tx);
    await tx.commit().execute();
    return value;
  } catch (error) {
    await tx
      .rollback()
      .execute()
      .catch(() => {});
    throw error;
  }
}
