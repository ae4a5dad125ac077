import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { Migration } from '../../core/migrate.ts';
import { installationKey } from '../../data/raw-databases/lifecycle.ts';
import { listAppSchemas } from '../backup/snapshot.ts';
import { hasTable } from '../system.ts';

export async function rebuildControlSchema(
  client: ClientBase,
  migrations: readonly Migration[],
): Promise<void> {
  // Keeps the table of migrations, which `migrate` owns.
  await client.query(`
    create schema svc_restoring;
    alter table svc.migrations set schema svc_restoring;
    drop schema svc cascade;
    alter schema svc_restoring rename to svc;
    delete from svc.migrations;
    drop schema if exists pgboss cascade`);
  for (const migration of migrations) await client.query(migration.sql);
}

export async function dropAppSchemas(client: ClientBase): Promise<void> {
  for (const name of await listAppSchemas(client)) await client.query(`drop schema ${ident(name)} cascade`);
}

/** Drops foreign keys, which may be circular, and disables triggers; the returned function restores and checks them. */
export async function suspendReferences(client: ClientBase): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ suspend: string; resume: string }>(
    `select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as suspend,
       format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) as resume,
       1 as step
     from pg_constraint k join pg_namespace n on n.oid = k.connamespace where n.nspname = 'svc' and k.contype = 'f'
     union all
     select format('alter table %s disable trigger %I', c.oid::regclass, t.tgname),
       format('alter table %s enable trigger %I', c.oid::regclass, t.tgname), 2
     from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'svc' and not t.tgisinternal and t.tgenabled = 'O'
     order by step`,
  );
  for (const { suspend } of rows) await client.query(suspend);
  return async () => {
    for (const { resume } of rows) await client.query(resume);
  };
}

/**
 * Those that were restored get the password of their row from the server, at its next start. Others on the server may belong to
 * another system: forget them. Returns the apps that lost theirs.
 */
export async function adoptRawDatabases(control: ClientBase, restored: readonly string[]): Promise<string[]> {
  if (!(await hasTable(control, 'svc.raw_databases'))) return [];
  await control.query(`delete from svc.outbox where topic = 'rawDb.settle' and done_at is null`);
  const { rows } = await control.query<{ slug: string }>(
    `with gone as (delete from svc.raw_databases where database <> all ($1) returning app_id, state)
     select a.slug from gone join svc.apps a on a.id = gone.app_id where gone.state <> 'dropping' order by 1`,
    [restored],
  );
  await control.query(
    `insert into svc.outbox (id, topic, payload, created_at)
     select gen_random_uuid(), 'rawDb.settle', jsonb_build_object('tenant_id', tenant_id, 'database', database), now()
     from svc.raw_databases`,
  );
  return rows.map(({ slug }) => slug);
}

/** Those that ran when the back-up was made. */
export async function forgetServers(control: ClientBase): Promise<void> {
  if (await hasTable(control, 'svc.servers')) await control.query('delete from svc.servers');
}

type Key = { name: string; value: string; created_at: Date };

/** Keys that belong to the database, not to its data: the login for rows and the installation key. */
const localKeyNames = ['rows_role', 'rows_password', installationKey];

export async function readRowsLogin(client: ClientBase): Promise<Key[]> {
  const { rows } = await client.query<Key>(
    'select name, value, created_at from svc.platform_keys where name = any($1)',
    [localKeyNames],
  );
  return rows;
}

export async function restoreRowsLogin(client: ClientBase, keys: readonly Key[]): Promise<void> {
  await client.query('delete from svc.platform_keys where name = any($1)', [localKeyNames]);
  const insert = 'insert into svc.platform_keys (name, value, created_at) values ($1, $2, $3)';
  for (const { name, value, created_at } of keys) await client.query(insert, [name, value, created_at]);
}

/** The id that marks raw databases of this system. Null if it never had any. */
export async function readInstallation(control: ClientBase): Promise<string | null> {
  const { rows } = await control.query<{ value: string }>(
    'select value from svc.platform_keys where name = $1',
    [installationKey],
  );
  return rows[0] ? (JSON.parse(rows[0].value) as string) : null;
}
