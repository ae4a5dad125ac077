import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { Migration } from '../../plumbing/migrate.ts';
import { isAppSchema } from '../backup/snapshot.ts';

/**
 * Empties the control plane and builds its schema as the migrations leave it, inside the transaction of the restore: if
 * anything fails, what was there is still there. The queue's schema goes too, for its jobs are about rows that
 * are gone; a server makes it anew.
 */
export async function rebuildControlSchema(
  client: ClientBase,
  migrations: readonly Migration[],
): Promise<void> {
  // The list of migrations is `migrate`'s own table and is kept as that makes it.
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
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where ${isAppSchema('nspname')}`,
  );
  for (const { name } of rows) await client.query(`drop schema ${ident(name)} cascade`);
}

/**
 * Rows are loaded table by table, and tables may refer to each other in circles. So the foreign keys are taken away and,
 * when all rows are there, put back, which checks them all. Triggers rest meanwhile: what they would do is done.
 */
export async function suspendReferences(client: ClientBase): Promise<() => Promise<void>> {
  const foreignKeys = await client.query<{ table: string; name: string; definition: string }>(
    `select k.conrelid::regclass::text as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_namespace n on n.oid = k.connamespace
     where n.nspname = 'svc' and k.contype = 'f'`,
  );
  const triggers = await client.query<{ table: string; name: string }>(
    `select t.tgrelid::regclass::text as table, t.tgname as name
     from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'svc' and not t.tgisinternal and t.tgenabled = 'O'`,
  );
  for (const { table, name } of foreignKeys.rows) {
    await client.query(`alter table ${table} drop constraint ${ident(name)}`);
  }
  for (const { table, name } of triggers.rows) {
    await client.query(`alter table ${table} disable trigger ${ident(name)}`);
  }
  return async () => {
    for (const { table, name, definition } of foreignKeys.rows) {
      await client.query(`alter table ${table} add constraint ${ident(name)} ${definition}`);
    }
    for (const { table, name } of triggers.rows) {
      await client.query(`alter table ${table} enable trigger ${ident(name)}`);
    }
  };
}
