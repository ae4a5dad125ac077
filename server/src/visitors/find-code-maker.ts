import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { findUser } from '../users/find-user.ts';
import { isGoodAt } from './rules.ts';
import { findCodeRow } from './store.ts';

/** Whom a code signs in as that is good here and in any browser; null for all others. It stays good. */
export async function findCodeMaker(
  { db, now }: { db: Db; now: Date },
  { code, origin }: { code: string; origin: string },
): Promise<{ name: string; email: string } | null> {
  const row = await findCodeRow(db, sha256(code));
  if (!row || row.state_hash !== null || !isGoodAt(row, { origin, now })) return null;
  return findUser({ db }, { ref: row.user_id });
}
