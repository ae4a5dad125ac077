import type { UserTokens } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { signToken, tokenKey } from './signed-token.ts';
import { insertToken } from './tokens-store.ts';

const ownTokenSeconds = 600;
export const userTokenSeconds = 8 * 3600;
export const refreshTokenSeconds = 184 * 24 * 3600;

/** A token of one of the platform's people, for the platform itself: the two are one, so nobody is asked. */
export async function issueUserToken(
  db: Db,
  { userId, now }: { userId: string; now: Date },
): Promise<UserTokens> {
  const expiresAt = after(now, ownTokenSeconds);
  const token = signToken(await tokenKey(db), { kind: 'user', userId, until: expiresAt.getTime() });
  return { token, expiresAt, refreshToken: null, refreshExpiresAt: null };
}

/** What a device flow gives: it is kept, and can be taken back. */
export async function issueUserTokens(
  db: Db,
  { userId, now }: { userId: string; now: Date },
): Promise<{ token: string; refreshToken: string }> {
  const of = { user_id: userId, created_at: now };
  const expires_at = after(now, userTokenSeconds);
  const token = await insertToken(db, { ...of, kind: 'user', expires_at });
  const refreshToken = await insertToken(db, {
    ...{ ...of, kind: 'refresh', expires_at: after(now, refreshTokenSeconds) },
  });
  return { token, refreshToken };
}

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}
