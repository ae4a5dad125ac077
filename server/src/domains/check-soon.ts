import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** For who has news of a domain, such as its certificate: it is looked at with the next round. */
export async function checkSoon(db: Db, { tenantId, domainId }: { tenantId: string; domainId: string }) {
  await sql`update svc.domains set next_check_at = now()
    where tenant_id = ${tenantId} and id = ${domainId} and status <> 'disconnected'`.execute(db);
}
