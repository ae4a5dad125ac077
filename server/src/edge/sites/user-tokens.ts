import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { AppAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { loadOrCreateKey } from '../../core/seal.ts';

export interface Person {
  userId: string;
  email: string;
  name: string;
  relation: AppAccess['relation'];
}

export interface UserTokens {
  tokenFor(app: { appId: string; tenantSlug: string }, person: Person): string;
  publicKeys: { keys: JWK[] };
}

const secondsMax = 60;
/** A cached token is reused while it is valid for at least this long. */
const leftSecondsMin = 30;
const cachedMax = 10_000;

/** Short-lived signed tokens for one app each. Cached, because signing costs more than proxying a request. */
export async function createUserTokens(deps: {
  db: Db;
  baseUrl: string;
  now: () => Date;
}): Promise<UserTokens> {
  const { db, baseUrl, now } = deps;
  const jwk = await loadOrCreateKey(db, 'edge.user_key', newKey);
  const key = createPrivateKey({ key: jwk as never, format: 'jwk' });
  const { d: _secret, ...publicKey } = jwk;
  const head = encodeJson({ alg: 'ES256', typ: 'JWT', kid: jwk.kid });
  const cached = new Map<string, { token: string; exp: number }>();

  function signToken(claims: Record<string, unknown>): string {
    const text = `${head}.${encodeJson(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  return {
    publicKeys: { keys: [publicKey] },
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
