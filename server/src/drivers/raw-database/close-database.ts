import { type Client, escapeIdentifier as ident } from 'pg';

/** It keeps its data; nobody logs in any more, and whoever is in is put out. Nothing to do where there is no role. */
export async function closeDatabase(admin: Client, name: string): Promise<void> {
  const role = await admin.query('select from pg_roles where rolname = $1', [name]);
  if (role.rowCount === 0) return;
  await admin.query(`alter role ${ident(name)} nologin`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [name]);
}
