import type { Ctx } from '../plumbing/context.ts';
import { type UserRecord, userRecord } from './rules.ts';
import { findUserRow } from './store.ts';

/** By id or e-mail address; null when there is none. */
export async function findUser(ctx: Pick<Ctx, 'db'>, { ref }: { ref: string }): Promise<UserRecord | null> {
  // The database takes no NUL in a text, and no address has one.
  const row = ref.includes('\0') ? undefined : await findUserRow(ctx.db, ref);
  return row ? userRecord(row) : null;
}
