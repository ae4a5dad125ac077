import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { AppAccess } from '../../core/context.ts';
import { declareSigningKey, type LiveKey } from '../../core/keys.ts';

export interface Person {
  userId: string;
  email: string;
  name: string;
  relation: AppAccess['relation'];
}

export interface UserTokens {
  tokenFor(app: { appId: string; tenantSlug: string }, person: Person): string;
  publicKeys(): { keys: JWK[] };
}

const secondsMax = 60;
/** A cached token is reused while it is valid for at least this long. */
const leftSecondsMin = 30;
const cachedMax = 10_000;

export const userTokenKey = declareSigningKey({
  name: 'edge.user_key',
  protects: 'Tokens that tell an app who its visitor is',
  create: newKey,
  acceptedSeconds: 3600,
});

/** Short-lived signed tokens for one app each. Cached, because signing costs more than proxying a request. */
export function createUserTokens(deps: { key: LiveKey<JWK>; baseUrl: string; now: () => Date }): UserTokens {
  const { baseUrl, now } = deps;
  const cached = new Map<string, { token: string; exp: number }>();
  let signer: { jwk: JWK; key: KeyObject; head: string } | null = null;

  function currentSigner() {
    const jwk = deps.key.current();
    if (signer?.jwk !== jwk)
      signer = {
        jwk,
        key: createPrivateKey({ key: jwk as never, format: 'jwk' }),
        head: encodeJson({ alg: 'ES256', typ: 'JWT', kid: jwk.kid }),
      };
    return signer;
  }

  function signToken(claims: Record<string, unknown>): string {
    const { head, key } = currentSigner();
    const text = `${head}.${encodeJson(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  return {
    publicKeys: () => ({ keys: deps.key.accepted().map(({ d: _secret, ...publicKey }) => publicKey) }),
    tokenFor({ appId, tenantSlug }, { userId, email, name, relation }) {
      const iat = Math.floor(now().getTime() / 1000);
      const claims = { sub: userId, email, name, tenant: tenantSlug, relation };
      const cacheKey = JSON.stringify([appId, claims]);
      const known = cached.get(cacheKey);
      if (known && known.exp - iat >= leftSecondsMin) return known.token;
      const exp = iat + secondsMax;
      const token = signToken({ iss: baseUrl, aud: appId, iat, exp, ...claims });
      if (cached.size >= cachedMax) cached.clear();
      cached.set(cacheKey, { token, exp });
      return token;
    },
  };
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = randomBytes(8).toString('hex');
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'ES256', kid };
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
