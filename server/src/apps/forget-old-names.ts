import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Names that were given up and are kept for nobody any more, of all tenants. */
export async function forgetOldNames(db: Db): Promise<void> {
  await sql`delete from svc.reserved_names where until <= now()`.execute(db);
}
