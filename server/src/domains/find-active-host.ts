import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** The id of the app that has the host now, and nobody else. */
export async function findActiveHost(db: Db, host: string): Promise<string | null> {
  const { rows } = await sql<{ app_id: string }>`
    select app_id from svc.domains where host = ${host} and status = 'active'`.execute(db);
  return rows[0]?.app_id ?? null;
}
