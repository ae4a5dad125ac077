import { randomBytes } from 'node:crypto';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { secretPattern } from './cookies.ts';
import { endVisit } from './end-visit.ts';
import { isGoodAt } from './rules.ts';
import { insertVisitRow, takeCodeRow } from './store.ts';

export const visitSecondsMax = 12 * 3600;

/** A visit for a code that is good at this very origin, in this very browser; null otherwise, and the code is gone. */
export async function redeemCode(
  { db, now, onCommitted }: { db: Db; now: Date; onCommitted?: ((tag: string) => void) | undefined },
  input: {
    code: string;
    origin: string;
    host: string;
    /** As the address says, and as the browser has it. */
    state: { given: string | null; kept: string | null };
    /** The visit that the browser had before, which the new one takes the place of. */
    before: string | null;
  },
): Promise<{ token: string } | null> {
  if (!secretPattern.test(input.code)) return null;
  const row = await takeCodeRow(db, sha256(input.code));
  if (!row || !isGoodAt(row, { origin: input.origin, now })) return null;
  const { given, kept } = input.state;
  if (row.state_hash !== null && (kept === null || kept !== given || sha256(kept) !== row.state_hash))
    return null;
  const token = randomBytes(32).toString('base64url');
  await insertVisitRow(db, {
    token_hash: sha256(token),
    app_id: row.app_id,
    host: input.host,
    user_id: row.user_id,
    credential_id: row.credential_id,
    created_at: now,
    expires_at: new Date(now.getTime() + visitSecondsMax * 1000),
  });
  if (input.before !== null)
    await endVisit({ db, onCommitted }, { tokenHash: sha256(input.before), host: input.host });
  return { token };
}
