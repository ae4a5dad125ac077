import type { Ctx } from '../plumbing/context.ts';
import { passwordBytesMax, type UserRecord, userRecord } from './rules.ts';
import { findUserRow } from './store.ts';

/** The active user with this address and password, or null; the time taken does not tell which was wrong. */
export async function verifyPassword(
  ctx: Pick<Ctx, 'db'>,
  { email, password }: { email: string; password: string },
): Promise<UserRecord | null> {
  if (Buffer.byteLength(password) > passwordBytesMax) return null;
  // By address only: an id is no name to sign in with. And the database takes no NUL in a text.
  const known = email.includes('@') && !email.includes('\0');
  const row = known ? await findUserRow(ctx.db, email.trim()) : undefined;
  const matches = await Bun.password.verify(password, row?.password_hash ?? nobodysHash);
  return matches && row?.password_hash && row.status === 'active' ? userRecord(row) : null;
}

/** Of no one's password, at the cost that `Bun.password.hash` has: work for addresses that no user has. */
const nobodysHash =
  '$argon2id$v=19$m=65536,t=2,p=1$EEupRRIi/83Muys3tLLHLnthQdPXMM2CznYG82i9loQ$s2kv3ILY0GzIGv9fDjYxGyVhpTHzULdwbXv/GI8a1cg';
