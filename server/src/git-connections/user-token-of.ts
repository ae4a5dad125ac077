import { fail } from '../plumbing/problem.ts';
import type { GitParts, LinkedPerson } from './git-parts.ts';
import { findLinkRow, type LinkRow, lockLinkRow, saveLinkRow } from './link-store.ts';
import { ownTokenOf } from './own-token-of.ts';
import { openTokens, sealTokens } from './token-seal.ts';
import { whileAsking } from './while-asking.ts';

type Parts = Pick<GitParts, 'db' | 'gitHost' | 'now'>;

/** One that ends this soon is renewed before it is used. */
const leftMsMin = 60_000;
/** By link: those who need the same token at the same time wait for one and the same. */
const renewing = new Map<string, Promise<string>>();

/**
 * The token of a person's account at the git host, renewed where it has to be. `refused`: the host did not take this
 * one. Without an account it is `git_account_required`; the built-in host knows everybody.
 */
export async function userTokenOf(
  parts: Parts,
  who: LinkedPerson,
  { refused }: { refused?: string } = {},
): Promise<string> {
  if (parts.gitHost.isBuiltIn) return ownTokenOf(parts, who);
  const row = await findLinkRow(parts.db, who, parts.gitHost.webUrl);
  if (!row) throw accountRequired();
  const { token, expiresAt } = await openTokens(parts.db, row);
  if (token !== refused && isGood(expiresAt, parts.now())) return token;
  const waiting = renewing.get(row.id) ?? renew(parts, who, row).finally(() => renewing.delete(row.id));
  renewing.set(row.id, waiting);
  return waiting;
}

export const accountRequired = () =>
  fail('git_account_required', { detail: 'No account of yours at the git host is linked, or not any more.' });

const isGood = (expiresAt: Date | null, now: Date) =>
  expiresAt === null || expiresAt.getTime() - now.getTime() > leftMsMin;

/** Under the lock of its row: a renewal counts once, and takes the token before it out of use. */
async function renew(parts: Parts, who: LinkedPerson, seen: LinkRow): Promise<string> {
  const { db, gitHost } = parts;
  const renewed = await whileAsking(db, async (tx) => {
    const row = await lockLinkRow(tx, who, seen.id);
    if (!row) return null;
    const held = await openTokens(tx, row);
    // Another copy of the server was first.
    if (!row.token_sealed.equals(seen.token_sealed)) return held.token;
    const isOver = held.refreshExpiresAt !== null && held.refreshExpiresAt <= parts.now();
    if (held.refreshToken === null || isOver) return null;
    const tokens = await gitHost.refresh(held.refreshToken);
    if (!tokens) {
      // It was taken back there: the host need not be asked about it again.
      await saveLinkRow(tx, who, row.id, { refresh_sealed: null, token_expires_at: parts.now() });
      return null;
    }
    await saveLinkRow(tx, who, row.id, await sealTokens(tx, row.id, tokens));
    return tokens.token;
  });
  if (renewed === null) throw accountRequired();
  return renewed;
}
