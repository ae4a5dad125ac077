import { generateKeyPairSync } from 'node:crypto';

/** By which an authority knows this platform again. */
export async function accountKey(): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
