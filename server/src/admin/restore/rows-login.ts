import type { ClientBase } from 'pg';
import { installationKey } from '../../raw-db/installation-id.ts';

type Key = { name: string; value: string; created_at: Date };

/**
 * Of the database, not of the data: the login for rows that a database of the operator's own keeps among the keys, and
 * the mark on databases of apps that are this system's.
 */
const names = ['rows_role', 'rows_password', installationKey];

export async function readRowsLogin(client: ClientBase): Promise<Key[]> {
  const { rows } = await client.query<Key>(
    'select name, value, created_at from svc.platform_keys where name = any($1)',
    [names],
  );
  return rows;
}

/** In place of the one that came with the backup, to which nobody here logs in. */
export async function keepRowsLogin(client: ClientBase, keys: readonly Key[]): Promise<void> {
  await client.query('delete from svc.platform_keys where name = any($1)', [names]);
  for (const { name, value, created_at } of keys) {
    await client.query('insert into svc.platform_keys (name, value, created_at) values ($1, $2, $3)', [
      name,
      value,
      created_at,
    ]);
  }
}
