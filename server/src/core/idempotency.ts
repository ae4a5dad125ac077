import { hkdfSync } from 'node:crypto';
import { idempotencyRetentionHours } from '@svc/contract/limits.ts';
import { sql } from 'kysely';
import { decrypt, encrypt } from './cipher.ts';
import type { Db, Tx } from './db.ts';
import { fail } from './problem.ts';
import { sha256 } from './values.ts';

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
  requestHash: string;
}

export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  view?: string;
}

export async function claimKey(tx: Tx, request: IdempotentRequest): Promise<StoredResponse | null> {
  // Held until the transaction ends. A concurrent request with the key is refused instead of waiting.
  const lock = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${idempotencyKeyHash(request)}, 0)) as held`.execute(
    tx,
  );
  if (!lock.rows[0]?.held) throw fail('idempotency_in_progress');
  return findStoredResponse(tx, request);
}

export async function findStoredResponse(db: Db, request: IdempotentRequest): Promise<StoredResponse | null> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'answer'])
    .where('caller_id', '=', request.callerId)
    .where('key_hash', '=', idempotencyKeyHash(request))
    .where('created_at', '>', sql<Date>`now() - make_interval(hours => ${idempotencyRetentionHours})`)
    .executeTakeFirst();
  if (!row) return null;
  if (row.request_hash !== request.requestHash) throw fail('idempotency_mismatch');
  return openResponse(row.answer, request.key);
}

export async function storeResponse(tx: Tx, request: IdempotentRequest, response: StoredResponse) {
  const row = {
    request_hash: request.requestHash,
    answer: sealResponse(response, request.key),
    created_at: sql`now()` as never,
  };
  await tx
    .withTables<Tables>()
    .insertInto('idempotency_keys')
    .values({ caller_id: request.callerId, key_hash: idempotencyKeyHash(request), ...row })
    .onConflict((conflict) => conflict.columns(['caller_id', 'key_hash']).doUpdateSet(row))
    .execute();
}

export async function deleteExpiredKeys(db: Db): Promise<void> {
  await db
    .withTables<Tables>()
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - make_interval(hours => ${idempotencyRetentionHours})`)
    .execute();
}

/** Only the hash of a key is stored, because the key itself decrypts the response. */
export function idempotencyKeyHash(request: Pick<IdempotentRequest, 'callerId' | 'key'>): string {
  return sha256(`${request.callerId}\n${request.key}`);
}

/** A response may contain a secret that is shown once (a new token), so it is encrypted with the client's key. */
export function sealResponse(response: StoredResponse, key: string): Buffer {
  return encrypt(responseKey(key), { text: JSON.stringify(response), boundTo: '' });
}

export function openResponse(sealed: Buffer, key: string): StoredResponse {
  return JSON.parse(decrypt(responseKey(key), { bytes: sealed, boundTo: '' })) as StoredResponse;
}

function responseKey(key: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, 'svc idempotency', 'answer', 32));
}
