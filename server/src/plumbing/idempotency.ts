import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { idempotencyKeptHours } from '@svc/contract/limits.ts';
import { sql } from 'kysely';
import { sha256 } from './canonical.ts';
import type { Db, Tx } from './db.ts';
import { fail } from './problem.ts';

type Tables = {
  idempotency_keys: {
    caller_id: string;
    key_hash: string;
    request_hash: string;
    answer: Buffer;
    created_at: Date;
  };
};

export interface IdempotentRequest {
  callerId: string;
  key: string;
  /** Over method, path and body: the same key with another request is refused. */
  requestHash: string;
}

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The answer given before, or null when this transaction is the first with the key (and now holds it). */
export async function claimKey(tx: Tx, request: IdempotentRequest): Promise<StoredAnswer | null> {
  const keyHash = keyHashOf(request);
  // Held to the end of the transaction; a second request with the key does not wait but is told.
  const lock = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${keyHash}, 0)) as held`.execute(tx);
  if (!lock.rows[0]?.held) throw fail('idempotency_in_progress');
  return answerBefore(tx, request);
}

/** The answer given before, or null. */
export async function answerBefore(db: Db, request: IdempotentRequest): Promise<StoredAnswer | null> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'answer'])
    .where('caller_id', '=', request.callerId)
    .where('key_hash', '=', keyHashOf(request))
    .where('created_at', '>', sql<Date>`now() - make_interval(hours => ${idempotencyKeptHours})`)
    .executeTakeFirst();
  if (!row) return null;
  if (row.request_hash !== request.requestHash) throw fail('idempotency_mismatch');
  return open(row.answer, request.key);
}

export async function keepAnswer(tx: Tx, request: IdempotentRequest, answer: StoredAnswer): Promise<void> {
  const row = { request_hash: request.requestHash, answer: seal(answer, request.key) };
  await tx
    .withTables<Tables>()
    .insertInto('idempotency_keys')
    .values({
      caller_id: request.callerId,
      key_hash: keyHashOf(request),
      ...row,
      created_at: sql`now()` as never,
    })
    .onConflict((conflict) =>
      conflict.columns(['caller_id', 'key_hash']).doUpdateSet({ ...row, created_at: sql`now()` as never }),
    )
    .execute();
}

export async function forgetOldKeys(db: Db): Promise<void> {
  await db
    .withTables<Tables>()
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - make_interval(hours => ${idempotencyKeptHours})`)
    .execute();
}

/** Under which a key is kept: the key itself opens the answer, so it is not. */
export function keyHashOf(request: Pick<IdempotentRequest, 'callerId' | 'key'>): string {
  return sha256(`${request.callerId}\n${request.key}`);
}

/** An answer can hold a secret that is shown once (a new token). It is kept readable only for who knows the key. */
export function seal(answer: StoredAnswer, key: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(key), iv);
  const text = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]);
}

export function open(sealed: Buffer, key: string): StoredAnswer {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(key), sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(12, 28));
  const text = Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
  return JSON.parse(text.toString('utf8')) as StoredAnswer;
}

function sealingKey(key: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, 'svc idempotency', 'answer', 32));
}
