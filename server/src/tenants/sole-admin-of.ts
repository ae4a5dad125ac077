import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** The one active admin of the tenant; null where there are several, or none. */
export async function soleAdminOf(db: Db, tenantId: string): Promise<string | null> {
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from svc.memberships m join svc.users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and m.role = 'tenant_admin' and u.status = 'active' limit 2`.execute(db);
  return rows.length === 1 ? (rows[0]?.user_id ?? null) : null;
}
