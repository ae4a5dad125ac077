import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

/** Those of them who are not suspended, whatever they are members of. */
export async function activeUsersAmong(db: Db, userIds: readonly string[]): Promise<string[]> {
  // The operator goes by a word.
  const ids = userIds.filter(isUuid);
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from svc.users where id = any(${ids}::uuid[]) and status = 'active' order by id`.execute(db);
  return rows.map((row) => row.id);
}
