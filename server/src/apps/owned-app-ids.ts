import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Of the apps of a tenant that are not deleted, those that somebody owns or co-owns. */
export async function ownedAppIds(
  db: Db,
  tenantId: string,
  { userId }: { userId: string },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps
    where tenant_id = ${tenantId} and record in ('active', 'archived')
      and (owner_id = ${userId}
        or exists (select from svc.app_co_owners c where c.app_id = apps.id and c.user_id = ${userId}))`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}
