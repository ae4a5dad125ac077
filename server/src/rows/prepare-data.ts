import pg, { escapeIdentifier as ident } from 'pg';
import { withSchemaLock } from '../plumbing/migrate.ts';

/**
 * What the row path keeps beside the rows, wherever they are: keys of requests that must happen once, and when an app
 * sent its last batches. Made anew by every start, so there is nothing to migrate and nothing to back up.
 */
export async function prepareData(options: { url: string; role: string | null }): Promise<void> {
  const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await withSchemaLock(client, async () => {
      await client.query(tablesSql);
      if (options.role !== null) await client.query(rightsSql(ident(options.role)));
    });
  } finally {
    await client.end().catch(() => {});
  }
}

const tablesSql = `
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
  )`;

const rightsSql = (role: string) => `
  grant usage on schema svc_data to ${role};
  grant select, insert, update, delete on all tables in schema svc_data to ${role}`;
