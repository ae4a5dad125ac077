import { randomBytes } from 'node:crypto';
import type { OauthModelRow } from '../identity/oauth-models.ts';
import { cliScope } from '../identity/provider-clients.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { insertModelRows } from './store.ts';

/**
 * Writes a grant and an access token as the OpenID provider writes them, so that every place that takes a token of
 * a login takes this one, and the login is listed and can be ended like any other. The provider keeps `jti` in
 * its payload; here it is left out, for it is the secret itself.
 */
export async function openLogin(
  ctx: MutationCtx,
  { userId, clientId, ttlSeconds }: { userId: string; clientId: string; ttlSeconds: number },
): Promise<{ token: string; expiresAt: Date }> {
  const token = opaqueId();
  const grantId = opaqueId();
  const expiresAt = new Date(ctx.now.getTime() + ttlSeconds * 1000);
  // Whole seconds by the standard: begun ones count, so that a token of one second is not born expired.
  const times = { iat: Math.floor(ctx.now.getTime() / 1000), exp: Math.ceil(expiresAt.getTime() / 1000) };
  const row = {
    user_id: userId,
    client_id: clientId,
    grant_id: null,
    uid: null,
    user_code_hash: null,
    created_at: ctx.now,
    expires_at: expiresAt,
    consumed_at: null,
  } satisfies Partial<OauthModelRow>;
  await insertModelRows(ctx.db, [
    {
      ...row,
      kind: 'Grant',
      id_hash: sha256(grantId),
      payload: { ...times, kind: 'Grant', accountId: userId, clientId, openid: { scope: cliScope } },
    },
    {
      ...row,
      kind: 'AccessToken',
      id_hash: sha256(token),
      grant_id: grantId,
      payload: {
        ...times,
        kind: 'AccessToken',
        accountId: userId,
        clientId,
        grantId,
        gty: 'operator',
        scope: cliScope,
      },
    },
  ]);
  return { token, expiresAt };
}

function opaqueId(): string {
  return randomBytes(32).toString('base64url');
}
