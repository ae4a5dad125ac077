import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

/** The password is needed again for the app's environment, so it can not be kept as a hash. */
export async function sealPassword(db: Db, login: { database: string; password: string }): Promise<Buffer> {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', await sealingKey(db), iv).setAAD(Buffer.from(login.database));
  const sealed = Buffer.concat([cipher.update(login.password, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
}

/** Only for the database that it was sealed for: a seal moved to another row does not open. */
export async function openPassword(
  db: Db,
  row: { database: string; password_sealed: Buffer },
): Promise<string> {
  const sealed = row.password_sealed;
  const decipher = createDecipheriv('aes-256-gcm', await sealingKey(db), sealed.subarray(0, 12))
    .setAAD(Buffer.from(row.database))
    .setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8');
}

async function sealingKey(db: Db): Promise<Buffer> {
  const key = await keptKey(db, 'raw_db.sealing_key', async () => randomBytes(32).toString('base64url'));
  return Buffer.from(key, 'base64url');
}
