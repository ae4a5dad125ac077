import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { type GitHostUser, UserTokenError, type UserTokens } from '../../drivers/git/git-host.ts';
import { signUserToken } from '../git-host/tokens.ts';
import {
  findLinkRow,
  type LinkRow,
  lockLinkRow,
  updateLinkRow,
  withTransactionDuringRequest,
} from './connection-store.ts';
import type { GitDeps, TenantUser } from './rules.ts';

type TokenDeps = Pick<GitDeps, 'db' | 'gitHost' | 'now'>;

const leftMsMin = 60_000;
const renewals = new Map<string, Promise<string>>();

/** Throws `git_account_required` without an account; at the built-in host every user has one. */
export async function getUserToken(
  deps: TokenDeps,
  user: TenantUser,
  { refused }: { refused?: string } = {},
): Promise<string> {
  if (deps.gitHost.isBuiltIn) return signOwnToken(deps, user);
  const row = await findLinkRow(deps.db, user, deps.gitHost.webUrl);
  if (!row) throw accountRequiredError();
  const { token, expiresAt } = await unsealTokens(deps.db, row);
  if (token !== refused && isValid(expiresAt, deps.now())) return token;
  const waiting =
    renewals.get(row.id) ??
    renewToken(deps, user, { id: row.id, token }).finally(() => renewals.delete(row.id));
  renewals.set(row.id, waiting);
  return waiting;
}

const accountRequiredError = () =>
  fail('git_account_required', { detail: 'Your git host account is not linked, or the link has expired.' });

const isValid = (expiresAt: Date | null, now: Date) =>
  expiresAt === null || expiresAt.getTime() - now.getTime() > leftMsMin;

/** Locks the row, because a refresh token works only once. */
async function renewToken(deps: TokenDeps, user: TenantUser, seen: { id: string; token: string }) {
  const { db, gitHost } = deps;
  const token = await withTransactionDuringRequest(db, async (tx) => {
    const row = await lockLinkRow(tx, user, seen.id);
    if (!row) return null;
    const tokens = await unsealTokens(tx, row);
    if (tokens.token !== seen.token) return tokens.token;
    const isExpired = tokens.refreshExpiresAt !== null && tokens.refreshExpiresAt <= deps.now();
    if (tokens.refreshToken === null || isExpired) return null;
    const renewed = await gitHost.refresh(tokens.refreshToken);
    if (!renewed) {
      // The host revoked the refresh token: do not try it again.
      await updateLinkRow(tx, user, row.id, { refresh_sealed: null, token_expires_at: deps.now() });
      return null;
    }
    await updateLinkRow(tx, user, row.id, await sealTokens(tx, row.id, renewed));
    return renewed.token;
  });
  if (token === null) throw accountRequiredError();
  return token;
}

export async function withGitUser<T>(
  deps: Pick<GitDeps, 'db' | 'gitHost' | 'now'>,
  user: TenantUser,
  call: (host: GitHostUser) => Promise<T>,
): Promise<T> {
  const token = await getUserToken(deps, user);
  try {
    return await call(deps.gitHost.asUser(token));
  } catch (error) {
    if (!(error instanceof UserTokenError)) throw error;
  }
  const renewed = await getUserToken(deps, user, { refused: token });
  return call(deps.gitHost.asUser(renewed)).catch((error: unknown) => {
    throw error instanceof UserTokenError ? accountRequiredError() : error;
  });
}

export async function hasGitAccount(
  { db, gitHost, now }: Pick<GitDeps, 'db' | 'gitHost' | 'now'>,
  user: TenantUser,
): Promise<boolean> {
  if (gitHost.isBuiltIn) return true;
  const row = await findLinkRow(db, user, gitHost.webUrl);
  if (!row) return false;
  const isCurrent = (until: Date | null) => until === null || until > now();
  return (
    isCurrent(row.token_expires_at) || (row.refresh_sealed !== null && isCurrent(row.refresh_expires_at))
  );
}

export async function signOwnToken({ db, now }: Pick<GitDeps, 'db' | 'now'>, { userId }: { userId: string }) {
  return (await signUserToken(db, { userId, now: now() })).token;
}

export const gitLinkKey = declareSealingKey({
  name: 'git.sealing_key',
  protects: 'Tokens of linked git accounts',
  columns: { 'git_links.token_sealed': "id || ' token'", 'git_links.refresh_sealed': "id || ' refresh'" },
});
export const loadSealingKey = (db: Db) => sealingKey(db, gitLinkKey);

export async function sealTokens(db: Db, linkId: string, tokens: UserTokens): Promise<SealedTokens> {
  const key = await loadSealingKey(db);
  const { token, refreshToken } = tokens;
  return {
    token_sealed: seal(key, { text: token, boundTo: `${linkId} token` }),
    token_expires_at: tokens.expiresAt,
    refresh_sealed:
      refreshToken === null ? null : seal(key, { text: refreshToken, boundTo: `${linkId} refresh` }),
    refresh_expires_at: tokens.refreshExpiresAt,
  };
}

async function unsealTokens(db: Db, row: LinkRow): Promise<UserTokens> {
  const key = await loadSealingKey(db);
  const { refresh_sealed } = row;
  return {
    token: unseal(key, { sealed: row.token_sealed, boundTo: `${row.id} token` }),
    expiresAt: row.token_expires_at,
    refreshToken:
      refresh_sealed === null ? null : unseal(key, { sealed: refresh_sealed, boundTo: `${row.id} refresh` }),
    refreshExpiresAt: row.refresh_expires_at,
  };
}

type SealedTokens = Pick<
  LinkRow,
  'token_sealed' | 'token_expires_at' | 'refresh_sealed' | 'refresh_expires_at'
>;
