import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Db } from './db.ts';

type Tables = { platform_keys: { name: string; value: string } };

/** Set on both sides: without it, Node.js accepts a shortened authentication tag. */
const gcmOptions = { authTagLength: 16 };

export function seal(key: Buffer, secret: { text: string; boundTo: string }): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, gcmOptions).setAAD(Buffer.from(secret.boundTo));
  const sealed = Buffer.concat([cipher.update(secret.text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
}

/** Throws where the sealed bytes were copied from another row: `boundTo` is authenticated. */
export function unseal(key: Buffer, { sealed, boundTo }: { sealed: Buffer; boundTo: string }): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), gcmOptions)
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8');
}

export async function sealingKey(db: Db, name: string): Promise<Buffer> {
  const key = await loadOrCreateKey(db, name, async () => randomBytes(32).toString('base64url'));
  return Buffer.from(key, 'base64url');
}

export async function loadOrCreateKey<T>(db: Db, name: string, create: () => Promise<T>): Promise<T> {
  let value = await findPlatformValue(db, name);
  if (value === null) {
    await db
      .withTables<Tables>()
      .insertInto('platform_keys')
      .values({ name, value: JSON.stringify(await create()) })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    // Read again: another process may have inserted its key first.
    value = await findPlatformValue(db, name);
  }
  if (value === null) throw new Error(`Platform key ${name} was not stored.`);
  return JSON.parse(value) as T;
}

export async function findPlatformValue(db: Db, name: string): Promise<string | null> {
  const query = db.withTables<Tables>().selectFrom('platform_keys').select('value').where('name', '=', name);
  return (await query.executeTakeFirst())?.value ?? null;
}

export async function storePlatformValue(db: Db, name: string, value: string): Promise<void> {
  await db
    .withTables<Tables>()
    .insertInto('platform_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
