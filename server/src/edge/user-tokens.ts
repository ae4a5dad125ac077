import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { AppAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

/** Who asks, as an app is told. */
export interface Person {
  userId: string;
  email: string;
  name: string;
  relation: AppAccess['relation'];
}

export interface UserTokens {
  tokenFor(app: { appId: string; tenantSlug: string }, person: Person): string;
  /** What apps verify it with. */
  publicKeys: { keys: JWK[] };
}

const secondsMax = 60;
/** One is used again for as long as it is good for at least this long. */
const leftSecondsMin = 30;
const keptMax = 10_000;

/** Short-lived statements of who asks, each for one app. Signing costs more than passing a request on, so they are kept. */
export async function createUserTokens({
  db,
  baseUrl,
  now,
}: {
  db: Db;
  baseUrl: string;
  now: () => Date;
}): Promise<UserTokens> {
  const jwk = await keptKey(db, 'edge.user_key', newKey);
  const key = createPrivateKey({ key: jwk as never, format: 'jwk' });
  const { d: _secret, ...publicKey } = jwk;
  const head = encoded({ alg: 'ES256', typ: 'JWT', kid: jwk.kid });
  const kept = new Map<string, { token: string; exp: number }>();

  function make(claims: Record<string, unknown>): string {
    const text = `${head}.${encoded(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  return {
    publicKeys: { keys: [publicKey] },
    tokenFor({ appId, tenantSlug }, { userId, email, name, relation }) {
      const iat = Math.floor(now().getTime() / 1000);
      const says = { sub: userId, email, name, tenant: tenantSlug, relation };
      const keptAs = JSON.stringify([appId, says]);
      const known = kept.get(keptAs);
      if (known && known.exp - iat >= leftSecondsMin) return known.token;
      const exp = iat + secondsMax;
      const token = make({ iss: baseUrl, aud: appId, iat, exp, ...says });
      if (kept.size >= keptMax) kept.clear();
      kept.set(keptAs, { token, exp });
      return token;
    },
  };
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = randomBytes(8).toString('hex');
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'ES256', kid };
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
