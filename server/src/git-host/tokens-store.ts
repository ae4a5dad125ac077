import { randomBytes } from 'node:crypto';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export type TokenKind = 'user' | 'refresh';

export interface TokenRow {
  token_hash: string;
  kind: TokenKind;
  user_id: string;
  expires_at: Date;
  created_at: Date;
}

type Tables = { git_host_tokens: TokenRow };

/** By their beginnings people and scanners know what they are. */
const prefixes: Record<TokenKind, string> = { user: 'svcgu_', refresh: 'svcgr_' };
const tokenPattern = /^svcg[ur]_[0-9a-f]{48}$/;

export function isKeptToken(text: string): boolean {
  return tokenPattern.test(text);
}

/** The only time that it is there in full. */
export async function insertToken(db: Db, row: Omit<TokenRow, 'token_hash'>): Promise<string> {
  const token = prefixes[row.kind] + randomBytes(24).toString('hex');
  await db
    .withTables<Tables>()
    .insertInto('git_host_tokens')
    .values({ ...row, token_hash: sha256(token) })
    .execute();
  return token;
}

export async function findToken(db: Db, token: string): Promise<TokenRow | undefined> {
  if (!isKeptToken(token)) return undefined;
  return db
    .withTables<Tables>()
    .selectFrom('git_host_tokens')
    .selectAll()
    .where('token_hash', '=', sha256(token))
    .executeTakeFirst();
}

/** The row, for the one who took it away: of several at once one gets it. */
export async function takeToken(db: Db, token: string, kind: TokenKind): Promise<TokenRow | undefined> {
  if (!isKeptToken(token)) return undefined;
  return db
    .withTables<Tables>()
    .deleteFrom('git_host_tokens')
    .where('token_hash', '=', sha256(token))
    .where('kind', '=', kind)
    .returningAll()
    .executeTakeFirst();
}

export async function deleteTokensOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.withTables<Tables>().deleteFrom('git_host_tokens').where('user_id', '=', userId).execute();
}

export async function deleteExpiredTokens(db: Db, now: Date): Promise<void> {
  await db.withTables<Tables>().deleteFrom('git_host_tokens').where('expires_at', '<', now).execute();
}
