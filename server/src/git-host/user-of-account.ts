import type { Db } from '../plumbing/db.ts';
import { findHostUserAt } from './accounts-store.ts';

/** Whose account a number of the host is: of one person or of none. */
export async function userOfAccount(db: Db, accountId: number): Promise<string[]> {
  const found = await findHostUserAt(db, accountId);
  return found ? [found.userId] : [];
}
