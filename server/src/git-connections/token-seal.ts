import type { UserTokens } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { seal, sealingKey, unseal } from '../plumbing/seal.ts';
import type { LinkRow, SealedTokens } from './link-store.ts';

const keyName = 'git.sealing_key';
export const gitSealingKey = (db: Db) => sealingKey(db, keyName);

/** Tokens are shown to the git host again, so they can not be kept as hashes. */
export async function sealTokens(db: Db, linkId: string, tokens: UserTokens): Promise<SealedTokens> {
  const key = await gitSealingKey(db);
  const { token, refreshToken } = tokens;
  return {
    token_sealed: seal(key, { text: token, boundTo: `${linkId} token` }),
    token_expires_at: tokens.expiresAt,
    refresh_sealed:
      refreshToken === null ? null : seal(key, { text: refreshToken, boundTo: `${linkId} refresh` }),
    refresh_expires_at: tokens.refreshExpiresAt,
  };
}

/** Only those of the link that they were sealed for. */
export async function openTokens(db: Db, row: LinkRow): Promise<UserTokens> {
  const key = await gitSealingKey(db);
  const { refresh_sealed } = row;
  return {
    token: unseal(key, { sealed: row.token_sealed, boundTo: `${row.id} token` }),
    expiresAt: row.token_expires_at,
    refreshToken:
      refresh_sealed === null ? null : unseal(key, { sealed: refresh_sealed, boundTo: `${row.id} refresh` }),
    refreshExpiresAt: row.refresh_expires_at,
  };
}
