import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { declareKey, type LiveKey, loadKey } from '../../core/keys.ts';
import { sha256 } from '../../core/values.ts';
import type { UserTokens } from '../../drivers/git/git-host.ts';

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

const signedPrefixes = { user: 'svcgu_', installation: 'svcgs_' } as const;
const signedPattern = /^svcg[us]_([\w-]+)\.([\w-]{43})$/;

export const gitTokenKey = declareKey({
  name: 'git_host.token_key',
  protects: 'Short-lived tokens of the built-in git host',
  acceptedSeconds: 2 * 3600,
});

export function signToken(key: LiveKey<string>, content: SignedToken): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${signedPrefixes[content.kind]}${text}.${sign(key.current(), text).toString('base64url')}`;
}

export function isSignedToken(text: string): boolean {
  return signedPattern.test(text);
}

export function readSignedToken(key: LiveKey<string>, token: string, now: Date): SignedToken | null {
  const [, text, mac] = signedPattern.exec(token) ?? [];
  if (text === undefined || mac === undefined) return null;
  const presented = Buffer.from(mac, 'base64url');
  if (!key.accepted().some((each) => timingSafeEqual(sign(each, text), presented))) return null;
  const content = Content.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  return content.until > now.getTime() && token.startsWith(signedPrefixes[content.kind]) ? content : null;
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

export async function revokeUserTokens(tx: Tx, { userId }: { userId: string }): Promise<void> {
  await deleteCodesApprovedBy(tx, userId);
  await deleteTokensOfUser(tx, userId);
}

export interface DeviceCodeRow {
  code_hash: string;
  user_code_hash: string;
  client_id: string;
  asked_by: string;
  asked_from: string;
  interval_seconds: number;
  last_poll_at: Date | null;
  approved_by: string | null;
  denied_at: Date | null;
  redeemed_at: Date | null;
  expires_at: Date;
  created_at: Date;
}

const codes = (db: Db) => db.withTables<{ git_host_device_codes: DeviceCodeRow }>();

export async function insertDeviceCode(
  db: Db,
  code: { deviceCode: string; userCode: string } & Pick<
    DeviceCodeRow,
    'client_id' | 'asked_by' | 'asked_from' | 'interval_seconds' | 'expires_at' | 'created_at'
  >,
): Promise<void> {
  const { deviceCode, userCode, ...rest } = code;
  const row = { ...rest, code_hash: sha256(deviceCode), user_code_hash: sha256(userCode) };
  await codes(db)
    .insertInto('git_host_device_codes')
    .values(row as DeviceCodeRow)
    .execute();
}

/** A client that polled too early gets a longer interval, which all server processes share. */
export async function pollDeviceCode(
  db: Db,
  deviceCode: string,
  {
    now,
    toleranceSeconds,
    slowDownSeconds,
  }: { now: Date; toleranceSeconds: number; slowDownSeconds: number },
): Promise<(DeviceCodeRow & { is_early: boolean }) | undefined> {
  const early = sql<boolean>`coalesce(last_poll_at
    + make_interval(secs => interval_seconds - ${toleranceSeconds}::int) > ${now}, false)`;
  const { rows } = await sql<DeviceCodeRow & { is_early: boolean }>`
    with before as (
      select code_hash, ${early} as is_early from svc.git_host_device_codes
      where code_hash = ${sha256(deviceCode)} for update
    )
    update svc.git_host_device_codes code set last_poll_at = ${now},
      interval_seconds = code.interval_seconds + case when before.is_early then ${slowDownSeconds}::int else 0 end
    from before where code.code_hash = before.code_hash
    returning code.*, before.is_early`.execute(db);
  return rows[0];
}

export async function redeemDeviceCode(db: Db, codeHash: string, now: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`update svc.git_host_device_codes set redeemed_at = ${now}
    where code_hash = ${codeHash} and approved_by is not null and redeemed_at is null and denied_at is null
      and expires_at > ${now}`.execute(db);
  return numAffectedRows === 1n;
}

export function findByUserCode(db: Db, userCode: string): Promise<DeviceCodeRow | undefined> {
  return codes(db)
    .selectFrom('git_host_device_codes')
    .selectAll()
    .where('user_code_hash', '=', sha256(userCode))
    .executeTakeFirst();
}

export async function decideDeviceCode(
  db: Db,
  userCode: string,
  { now, ...decision }: { now: Date } & Partial<Pick<DeviceCodeRow, 'approved_by' | 'denied_at'>>,
): Promise<boolean> {
  const answered = await codes(db)
    .updateTable('git_host_device_codes')
    .set(decision)
    .where('user_code_hash', '=', sha256(userCode))
    .where('approved_by', 'is', null)
    .where('denied_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('code_hash')
    .executeTakeFirst();
  return answered !== undefined;
}

async function deleteCodesApprovedBy(tx: Tx, userId: string): Promise<void> {
  await codes(tx).deleteFrom('git_host_device_codes').where('approved_by', '=', userId).execute();
}

/** Expired codes are retained for a while, so that clients see "expired" and not "unknown". */
export async function deleteOldDeviceCodes(db: Db, before: Date): Promise<void> {
  await codes(db).deleteFrom('git_host_device_codes').where('expires_at', '<', before).execute();
}

type TokenKind = 'user' | 'refresh';

interface TokenRow {
  token_hash: string;
  kind: TokenKind;
  user_id: string;
  expires_at: Date;
  created_at: Date;
}

const tokens = (db: Db) => db.withTables<{ git_host_tokens: TokenRow }>();

const storedPrefixes: Record<TokenKind, string> = { user: 'svcgu_', refresh: 'svcgr_' };
const storedPattern = /^svcg[ur]_[0-9a-f]{48}$/;

export function isStoredToken(text: string): boolean {
  return storedPattern.test(text);
}

async function insertToken(db: Db, row: Omit<TokenRow, 'token_hash'>): Promise<string> {
  const token = storedPrefixes[row.kind] + randomBytes(24).toString('hex');
  await tokens(db)
    .insertInto('git_host_tokens')
    .values({ ...row, token_hash: sha256(token) })
    .execute();
  return token;
}

export async function findToken(db: Db, token: string): Promise<TokenRow | undefined> {
  if (!isStoredToken(token)) return undefined;
  return tokens(db)
    .selectFrom('git_host_tokens')
    .selectAll()
    .where('token_hash', '=', sha256(token))
    .executeTakeFirst();
}

export async function consumeToken(db: Db, token: string, kind: TokenKind): Promise<TokenRow | undefined> {
  if (!isStoredToken(token)) return undefined;
  return tokens(db)
    .deleteFrom('git_host_tokens')
    .where((row) => row.and({ token_hash: sha256(token), kind }))
    .returningAll()
    .executeTakeFirst();
}

async function deleteTokensOfUser(tx: Tx, userId: string): Promise<void> {
  await tokens(tx).deleteFrom('git_host_tokens').where('user_id', '=', userId).execute();
}

export async function deleteExpiredTokens(db: Db, now: Date): Promise<void> {
  await tokens(db).deleteFrom('git_host_tokens').where('expires_at', '<', now).execute();
}
