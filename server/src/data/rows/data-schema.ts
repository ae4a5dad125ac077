import { escapeIdentifier as ident } from 'pg';
import { withSchemaLock } from '../../core/migrate.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { forgetTransactionsSql } from '../tables/change-log.ts';

/** These tables (idempotency keys, batch times, the epoch of the database, finished changes of tables) need neither migrations nor backups. */
export async function createDataSchema(options: {
  url: string;
  role: string | null;
}): Promise<{ epoch: string }> {
  return withClient(options.url, (client) =>
    withSchemaLock(client, async () => {
      await client.query(dataSchemaSql);
      if (options.role !== null) await client.query(grantsSql(ident(options.role)));
      const added = await client.query('insert into svc_data.epoch default values on conflict do nothing');
      if (added.rowCount === 1) await client.query(forgetTransactionsSql);
      const { rows } = await client.query<{ epoch: string }>('select value as epoch from svc_data.epoch');
      return { epoch: rows[0]?.epoch ?? '' };
    }),
  );
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
