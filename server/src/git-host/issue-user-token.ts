import type { UserTokens } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { insertToken } from './tokens-store.ts';

export const userTokenSeconds = 8 * 3600;
export const refreshTokenSeconds = 184 * 24 * 3600;

/** A token of one of the platform's people, for the platform itself: the two are one, so nobody is asked. */
export async function issueUserToken(
  db: Db,
  { userId, now }: { userId: string; now: Date },
): Promise<UserTokens> {
  const expiresAt = after(now, userTokenSeconds);
  const token = await insertToken(db, tokenOf('user', userId, now, expiresAt));
  return { token, expiresAt, refreshToken: null, refreshExpiresAt: null };
}

/** What a device flow gives: also the means to renew it. */
export async function issueUserTokens(
  db: Db,
  { userId, now }: { userId: string; now: Date },
): Promise<{ token: string; refreshToken: string }> {
  const { token } = await issueUserToken(db, { userId, now });
  const refreshExpiresAt = after(now, refreshTokenSeconds);
  const refreshToken = await insertToken(db, tokenOf('refresh', userId, now, refreshExpiresAt));
  return { token, refreshToken };
}

function tokenOf(kind: 'user' | 'refresh', userId: string, now: Date, expiresAt: Date) {
  return { kind, user_id: userId, installation_id: null, expires_at: expiresAt, created_at: now };
}

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}
