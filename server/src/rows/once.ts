import { idempotencyKeptHours } from '@svc/contract/limits.ts';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import { type IdempotentRequest, keyHashOf, open, type StoredAnswer, seal } from '../plumbing/idempotency.ts';
import { fail } from '../plumbing/problem.ts';

/**
 * Runs work that must happen once for a key, in the transaction of its effect: the answer given before, if there is
 * one, else the work's own, which is kept. The keys are where the rows are, for one commit to hold both.
 */
export async function once(
  tx: Transaction,
  request: IdempotentRequest,
  work: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  const keyHash = keyHashOf(request);
  // Held to the end of the transaction; a second request with the key does not wait but is told.
  const lock = await tx.query('select pg_try_advisory_xact_lock(hashtextextended($1, 0))::text', [keyHash]);
  if (lock.rows[0]?.[0] !== 'true') throw fail('idempotency_in_progress');
  const before = await tx.query(
    `select request_hash, encode(answer, 'base64') from svc_data.idempotency_keys
      where caller_id = $1 and key_hash = $2 and created_at > now() - make_interval(hours => ${idempotencyKeptHours})`,
    [request.callerId, keyHash],
  );
  const [requestHash, answer] = before.rows[0] ?? [];
  if (answer) {
    if (requestHash !== request.requestHash) throw fail('idempotency_mismatch');
    return open(Buffer.from(answer, 'base64'), request.key);
  }
  const made = await work();
  await tx.query(
    `insert into svc_data.idempotency_keys (caller_id, key_hash, request_hash, answer) values ($1, $2, $3, decode($4, 'base64'))
      on conflict (caller_id, key_hash) do update
      set request_hash = excluded.request_hash, answer = excluded.answer, created_at = now()`,
    [request.callerId, keyHash, request.requestHash, seal(made, request.key).toString('base64')],
  );
  return made;
}
