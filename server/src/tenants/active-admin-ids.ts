import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Those who can decide for the tenant now. */
export async function activeAdminIds(db: Db, tenantId: string): Promise<string[]> {
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from svc.memberships m join svc.users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and m.role = 'tenant_admin' and u.status = 'active'
    order by m.user_id`.execute(db);
  return rows.map((row) => row.user_id);
}
