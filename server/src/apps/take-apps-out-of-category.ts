import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Some of them; whether there may be more. It is no change of theirs, so the time of the last one stays. */
export async function takeAppsOutOfCategory(
  db: Db,
  tenantId: string,
  { categoryId, appsMax }: { categoryId: string; appsMax: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`update svc.apps set category_id = null
    where tenant_id = ${tenantId} and id in (
      select id from svc.apps where tenant_id = ${tenantId} and category_id = ${categoryId}
      limit ${appsMax} for no key update)`.execute(db);
  return numAffectedRows === BigInt(appsMax);
}
