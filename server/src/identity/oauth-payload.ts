import type { AdapterPayload } from 'oidc-provider';

/**
 * Ids of tokens, codes and sessions are what opens doors, so they are kept as hashes only. The provider writes copies
 * of them into what it stores; these take them out before, and put them back after.
 */
export function withoutSecrets(kind: string, id: string, payload: AdapterPayload): AdapterPayload {
  const { jti: _jti, userCode: _userCode, ...kept } = payload;
  if (kind !== 'Interaction') return kept;
  if (kept.session) {
    const { cookie: _cookie, ...session } = kept.session;
    kept.session = session;
  }
  if (kept.returnTo?.endsWith(id)) kept.returnTo = kept.returnTo.slice(0, -id.length);
  return kept;
}

export function withSecrets(kind: string, id: string, stored: AdapterPayload): AdapterPayload {
  const payload = { ...stored, jti: id };
  if (kind === 'Interaction' && payload.returnTo?.endsWith('/')) payload.returnTo += id;
  return payload;
}
