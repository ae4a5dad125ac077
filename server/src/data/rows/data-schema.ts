import { idempotencyRetentionHours } from '@svc/contract/limits.ts';
import { batchRequestsPerMinuteMax } from '@svc/contract/rows.ts';
import { sql } from 'kysely';
import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { Db, Tx } from '../../core/db.ts';
import {
  type IdempotentRequest,
  idempotencyKeyHash,
  openResponse,
  type StoredResponse,
  sealResponse,
} from '../../core/idempotency.ts';
import { withSchemaLock } from '../../core/migrate.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { withClient } from '../../drivers/database/connect.ts';
import type { RowPool, Transaction } from '../../drivers/row-database/row-pool.ts';
import { forgetTransactionsSql } from '../tables/change-log.ts';
import type { RowTable } from './row-table.ts';

export async function deleteExpiredRowKeys(rowsDb: Db): Promise<void> {
  await sql`delete from svc_data.idempotency_keys
    where created_at < now() - make_interval(hours => ${idempotencyRetentionHours})`.execute(rowsDb);
}

/** Keys are in the data database, so that rows and key are committed together. */
export async function runOnce(
  tx: Transaction,
  tables: readonly Pick<RowTable, 'view'>[],
  request: IdempotentRequest,
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  const keyHash = idempotencyKeyHash(request);
  const view = sha256(JSON.stringify(tables.map(({ view: { rows, columns } }) => [rows, columns])));
  // Held until the end of the transaction. A parallel request with the key fails instead of waiting.
  const lock = await tx.query('select pg_try_advisory_xact_lock(hashtextextended($1, 0))::text', [keyHash]);
  if (lock.rows[0]?.[0] !== 'true') throw fail('idempotency_in_progress');
  const stored = await tx.query(
    `select request_hash, encode(answer, 'base64') from svc_data.idempotency_keys
      where caller_id = $1 and key_hash = $2 and created_at > now() - make_interval(hours => ${idempotencyRetentionHours})`,
    [request.callerId, keyHash],
  );
  const [requestHash, response] = stored.rows[0] ?? [];
  if (response) {
    if (requestHash !== request.requestHash) throw fail('idempotency_mismatch');
    const answer = openResponse(Buffer.from(response, 'base64'), request.key);
    return answer.view === view ? answer : withoutContent(answer);
  }
  const result = { ...(await work()), view };
  await tx.query(
    `insert into svc_data.idempotency_keys (caller_id, key_hash, request_hash, answer) values ($1, $2, $3, decode($4, 'base64'))
      on conflict (caller_id, key_hash) do update
      set request_hash = excluded.request_hash, answer = excluded.answer, created_at = now()`,
    [request.callerId, keyHash, request.requestHash, sealResponse(result, request.key).toString('base64')],
  );
  return result;
}

/** The caller sees other rows or columns by now: they learn that it was done, and nothing of what they saw. */
function withoutContent({ status }: StoredResponse): StoredResponse {
  return { status: status === 200 ? 204 : status, headers: {}, body: '' };
}

export type BatchLimit = (appId: string) => Promise<void>;

/** Outside the batch's transaction, so that batches do not wait for each other. */
export function createBatchLimit(rowDb: RowPool): BatchLimit {
  return async (appId) => {
    const { rows } = await rowDb.of(appId).run('write', recordBatchSql, [appId]);
    if (rows.length > 0) return;
    const oldest = await rowDb.of(appId).run('read', retryAfterSql, [appId]);
    const seconds = Math.max(1, Math.ceil(Number(oldest.rows[0]?.[0] ?? 1)));
    throw fail('rate_limited', {
      detail: `An app may send ${batchRequestsPerMinuteMax} batches per minute.`,
      headers: { 'retry-after': String(seconds) },
    });
  };
}

const withinMinute =
  "array(select t from unnest(b.times) t where t > clock_timestamp() - interval '1 minute')";

const recordBatchSql = `
  insert into svc_data.batch_times as b (app_id, times) values ($1::uuid, array[clock_timestamp()])
  on conflict (app_id) do update set times = ${withinMinute} || clock_timestamp()
  where cardinality(${withinMinute}) < ${batchRequestsPerMinuteMax}
  returning 1::text`;

const retryAfterSql = `
  select extract(epoch from min(t) + interval '1 minute' - clock_timestamp())::text
  from svc_data.batch_times b, unnest(b.times) t where b.app_id = $1::uuid and t > clock_timestamp() - interval '1 minute'`;

export async function hasRows(tx: Tx, { from }: Pick<RowTable, 'from'>): Promise<boolean> {
  const { rows } = await sql`select from ${sql.raw(from)} limit 1`.execute(tx);
  return rows.length > 0;
}

/** In a restored database, it rewrites the change logs of all tables. */
const forgetMsMax = 60 * 60_000;

/** These tables (idempotency keys, batch times, the epoch of the database, finished changes of tables) need neither migrations nor backups. */
export async function createDataSchema(options: {
  url: string;
  role: string | null;
}): Promise<{ epoch: string }> {
  const work = (client: ClientBase) =>
    withSchemaLock(client, async () => {
      await client.query(dataSchemaSql);
      if (options.role !== null) await client.query(grantsSql(ident(options.role)));
      const added = await client.query('insert into svc_data.epoch default values on conflict do nothing');
      if (added.rowCount === 1) await client.query(forgetTransactionsSql);
      const { rows } = await client.query<{ epoch: string }>('select value as epoch from svc_data.epoch');
      return { epoch: rows[0]?.epoch ?? '' };
    });
  return withClient(options.url, work, { queryMsMax: forgetMsMax });
}

export const dataSchemaSql = `
  -- With Citus, this schema is on the coordinator. Elsewhere, the setting means nothing.
  set local citus.enable_schema_based_sharding to off;
  create schema if not exists svc_data;
  create table if not exists svc_data.idempotency_keys (
    caller_id    text not null,
    key_hash     text not null,
    request_hash text not null,
    answer       bytea not null,
    created_at   timestamptz not null default now(),
    primary key (caller_id, key_hash)
  );
  create index if not exists idempotency_keys_age on svc_data.idempotency_keys (created_at);
  -- The times of an app's batches in the last minute.
  create table if not exists svc_data.batch_times (
    app_id uuid primary key,
    times  timestamptz[] not null
  );
  -- Not part of backups: a restored database has another one.
  create table if not exists svc_data.epoch (
    is_only boolean primary key default true check (is_only),
    value   text not null default gen_random_uuid()::text
  );
  -- Files that a row no longer has.
  create table if not exists svc_data.released_files (
    file_id     uuid primary key,
    released_at timestamptz not null
  );
  -- Changes of tables that this database has made: see tables/table-intents.ts. Empty unless one was interrupted.
  create table if not exists svc_data.table_intents (
    id uuid primary key
  );
  create or replace function svc_data.release_file() returns trigger language plpgsql as $$
  declare
    file uuid;
  begin
    execute format('select ($1.%I ->> ''id'')::uuid', tg_argv[0]) into file using old;
    if file is not null then
      insert into svc_data.released_files values (file, clock_timestamp())
      on conflict (file_id) do update set released_at = excluded.released_at;
    end if;
    return null;
  end $$;
  set local citus.enable_schema_based_sharding to default`;

const grantsSql = (role: string) => `
  grant usage on schema svc_data to ${role};
  grant select, insert, update, delete on all tables in schema svc_data to ${role}`;
