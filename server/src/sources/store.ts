import { sql } from 'kysely';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface UploadRow {
  id: string;
  tenant_id: string;
  app_id: string;
  created_by: string;
  bytes: number | null;
  sha256: string | null;
  arrived_at: Date | null;
  expires_at: Date;
}
type Tables = { deployment_uploads: UploadRow };

export async function insertUploadRow(tx: Tx, row: UploadRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('deployment_uploads').values(row).execute();
}

export function findUploadRow(
  db: Db,
  { tenantId, appId }: AppPlace,
  id: string,
): Promise<UploadRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('deployment_uploads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** How many addresses were made for the app since then. */
export async function countUploadRows(tx: Tx, { tenantId, appId }: AppPlace, since: Date): Promise<number> {
  const { count } = await tx
    .withTables<Tables>()
    .selectFrom('deployment_uploads')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('expires_at', '>', since)
    .executeTakeFirstOrThrow();
  return count;
}

/** False where something has arrived before, or there is no such upload any more. */
export async function markArrived(
  db: Db,
  { tenantId, appId }: AppPlace,
  { id, ...set }: { id: string; bytes: number; sha256: string; arrived_at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .withTables<Tables>()
    .updateTable('deployment_uploads')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .where('arrived_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** In every tenant: those whose time was over before then. The sweep alone asks. */
export async function listUploadRowsBefore(db: Db, before: Date, limit: number): Promise<UploadRow[]> {
  const { rows } = await sql<UploadRow>`
    select * from svc.deployment_uploads where expires_at < ${before} order by expires_at limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function deleteUploadRow(db: Db, { tenantId, appId }: AppPlace, id: string): Promise<void> {
  await db
    .withTables<Tables>()
    .deleteFrom('deployment_uploads')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .execute();
}
