import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

export interface ProviderKeys {
  jwks: { keys: SigningKey[] };
  cookieKeys: string[];
}

type SigningKey = JWK & { kty: string };

/** Made once, at the first start of the first copy; all copies sign with the same. */
export async function loadProviderKeys(db: Db): Promise<ProviderKeys> {
  const [jwks, cookieKeys] = await Promise.all([
    keptKey(db, 'oauth.jwks', async () => ({
      keys: [await newSigningKey('ES256'), await newSigningKey('RS256')],
    })),
    keptKey(db, 'oauth.cookie_keys', async () => [randomBytes(32).toString('base64url')]),
  ]);
  return { jwks, cookieKeys };
}

async function newSigningKey(alg: 'ES256' | 'RS256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const { kty, ...key } = await exportJWK(privateKey);
  if (!kty) throw new Error(`No ${alg} key could be made.`);
  return { kty, ...key, use: 'sig', alg, kid: randomBytes(8).toString('hex') };
}
