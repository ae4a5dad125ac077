import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { declareKey, type LiveKey, loadKey } from '../../core/keys.ts';
import type { UserTokens } from '../../drivers/git/git-host.ts';
import { deleteCodesApprovedBy, deleteTokensOfUser, insertToken, type TokenKind } from './login-store.ts';

/** Issuing such a token writes nothing; it cannot be revoked. */
const Content = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), userId: z.string(), until: z.number() }),
  z.object({
    kind: z.literal('installation'),
    installationId: z.int(),
    repoIds: z.array(z.int()).nullable(),
    mayWrite: z.boolean(),
    until: z.number(),
  }),
]);
export type SignedToken = z.output<typeof Content>;

const prefixes = { user: 'svcgu_', installation: 'svcgs_' } as const;
const pattern = /^svcg[us]_([\w-]+)\.([\w-]{43})$/;

export const gitTokenKey = declareKey({
  name: 'git_host.token_key',
  protects: 'Short-lived tokens of the built-in git host',
  acceptedSeconds: 2 * 3600,
});

export function signToken(key: LiveKey<string>, content: SignedToken): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${prefixes[content.kind]}${text}.${sign(key.current(), text).toString('base64url')}`;
}

export function isSignedToken(text: string): boolean {
  return pattern.test(text);
}

export function readSignedToken(key: LiveKey<string>, token: string, now: Date): SignedToken | null {
  const [, text, mac] = pattern.exec(token) ?? [];
  if (text === undefined || mac === undefined) return null;
  const presented = Buffer.from(mac, 'base64url');
  if (!key.accepted().some((each) => timingSafeEqual(sign(each, text), presented))) return null;
  const content = Content.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  return content.until > now.getTime() && token.startsWith(prefixes[content.kind]) ? content : null;
}

function sign(key: string, text: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(`git host token ${text}`).digest();
}

const signedTokenSeconds = 600;
export const userTokenSeconds = 8 * 3600;
export const refreshTokenSeconds = 184 * 24 * 3600;

export async function signUserToken(
  db: Db,
  { userId, now }: { userId: string; now: Date },
): Promise<UserTokens> {
  const expiresAt = secondsAfter(now, signedTokenSeconds);
  const token = signToken(await loadKey(db, gitTokenKey), {
    kind: 'user',
    userId,
    until: expiresAt.getTime(),
  });
  return { token, expiresAt, refreshToken: null, refreshExpiresAt: null };
}

export async function issueDeviceTokens(db: Db, { userId, now }: { userId: string; now: Date }) {
  const issue = (kind: TokenKind, seconds: number) =>
    insertToken(db, { user_id: userId, created_at: now, kind, expires_at: secondsAfter(now, seconds) });
  const token = await issue('user', userTokenSeconds);
  return { token, refreshToken: await issue('refresh', refreshTokenSeconds) };
}

function secondsAfter(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

/** Revokes all tokens from device flows, and approved codes that were not redeemed yet. */
export async function revokeUserTokens(tx: Tx, { userId }: { userId: string }): Promise<void> {
  await deleteCodesApprovedBy(tx, userId);
  await deleteTokensOfUser(tx, userId);
}
