import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Set on both sides: without it, Node.js accepts a shortened authentication tag. */
const gcmOptions = { authTagLength: 16 };

export function encrypt(key: Buffer, secret: { text: string; boundTo: string }): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, gcmOptions).setAAD(Buffer.from(secret.boundTo));
  const encrypted = Buffer.concat([cipher.update(secret.text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]);
}

/** Throws where the bytes were copied from another place: `boundTo` is authenticated. */
export function decrypt(key: Buffer, { bytes, boundTo }: { bytes: Buffer; boundTo: string }): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), gcmOptions)
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
}
