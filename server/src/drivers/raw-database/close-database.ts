import { type Client, escapeIdentifier as ident } from 'pg';
import { putOut } from './put-out.ts';

/** It keeps its data; nobody logs in any more, and whoever is in is put out. Nothing to do where there is no role. */
export async function closeDatabase(admin: Client, name: string): Promise<void> {
  const role = await admin.query('select from pg_roles where rolname = $1', [name]);
  if (role.rowCount === 0) return;
  await admin.query(`alter role ${ident(name)} nologin`);
  await putOut(admin, name);
}
