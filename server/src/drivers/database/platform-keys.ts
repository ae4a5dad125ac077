import type { ClientBase } from 'pg';
import { withSchemaLock } from '../../plumbing/migrate.ts';

/**
 * Secrets that all copies of the server share, in the control database. Copies may start at once, and
 * `create … if not exists` alone can fail then, so it is done under the lock of the migrations.
 */
export async function preparePlatformKeys<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  return await withSchemaLock(client, async () => {
    await client.query(`
      create schema if not exists svc;
      create table if not exists svc.platform_keys (
        name text primary key,
        value text not null,
        created_at timestamptz default now()
      )`);
    return await work();
  });
}

/** The stored value, or the given one, now stored. */
export async function keepPlatformKey(
  client: ClientBase,
  name: string,
  makeValue: () => string,
): Promise<string> {
  const found = await client.query<{ value: string }>('select value from svc.platform_keys where name = $1', [
    name,
  ]);
  if (found.rows[0]) return found.rows[0].value;
  const value = makeValue();
  await client.query('insert into svc.platform_keys (name, value) values ($1, $2)', [name, value]);
  return value;
}
