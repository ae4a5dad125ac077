import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Db } from './db.ts';
import { keptKey } from './kept-key.ts';

/** Said to both: left out, a shorter one can be taken for whole. */
const proof = { authTagLength: 16 };

/** For secrets that are needed again as they are, and so can not be kept as a hash: AES-256-GCM. */
export function seal(key: Buffer, secret: { text: string; boundTo: string }): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, proof).setAAD(Buffer.from(secret.boundTo));
  const sealed = Buffer.concat([cipher.update(secret.text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
}

/** Only for what it was bound to: a seal moved to another row does not open. */
export function unseal(key: Buffer, { sealed, boundTo }: { sealed: Buffer; boundTo: string }): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), proof)
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8');
}

export async function sealingKey(db: Db, name: string): Promise<Buffer> {
  const key = await keptKey(db, name, async () => randomBytes(32).toString('base64url'));
  return Buffer.from(key, 'base64url');
}
