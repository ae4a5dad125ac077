import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** What has expired counts for nothing already; this only makes room. In one go each: both are short lists, by an index. */
export async function forgetEndedVisits(db: Db): Promise<void> {
  await sql`delete from svc.site_codes where expires_at < now()`.execute(db);
  await sql`delete from svc.site_visits where expires_at < now()`.execute(db);
}
