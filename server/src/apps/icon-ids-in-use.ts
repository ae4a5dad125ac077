import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** The icons of ours that apps of the tenant refer to, deleted apps too. The host is not looked at: it may change. */
export async function iconIdsInUse(db: Db, tenantId: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select substring(url from '/icons/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})') as id
    from svc.apps, lateral (values (icon_url), (icon_dark_url)) as icons (url)
    where tenant_id = ${tenantId} and url like '%/icons/%'`.execute(db);
  return new Set(rows.map((row) => row.id).filter(Boolean));
}
