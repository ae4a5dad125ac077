import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

/** Those of them who are members of the tenant now and not suspended. */
export async function activeMembersAmong(
  db: Db,
  tenantId: string,
  userIds: readonly string[],
): Promise<string[]> {
  // The operator goes by a word.
  const ids = userIds.filter(isUuid);
  if (ids.length === 0) return [];
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from svc.memberships m join svc.users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and m.user_id = any(${ids}::uuid[]) and u.status = 'active'
    order by m.user_id`.execute(db);
  return rows.map((row) => row.user_id);
}
