import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

/** What an operator would be given where the app of a git host is registered. */
export interface BuiltInCredentials {
  clientId: string;
  appId: number;
  /** PEM, PKCS #8. */
  privateKey: string;
  webhookSecret: string;
  slug: string;
}

/** The platform's own app at the built-in host: made once, the same for all copies of the server. */
export function builtInCredentials(db: Db): Promise<BuiltInCredentials> {
  return keptKey(db, 'git_host.app', async () => ({
    clientId: `Iv1.${randomBytes(8).toString('hex')}`,
    appId: 1,
    privateKey: await newPrivateKey(),
    webhookSecret: randomBytes(32).toString('base64url'),
    slug: 'svc',
  }));
}

async function newPrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return privateKey;
}
