import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import type { AppPlace } from './store.ts';

/** Whether the source of an upload is there to be deployed. */
export async function hasArrived(
  db: Db,
  { tenantId, appId }: AppPlace,
  { uploadId }: { uploadId: string },
): Promise<boolean> {
  const { rows } = await sql`
    select from svc.deployment_uploads
    where id = ${uploadId} and tenant_id = ${tenantId} and app_id = ${appId} and arrived_at is not null`.execute(
    db,
  );
  return rows.length > 0;
}
