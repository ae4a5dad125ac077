import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

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

export async function insertUploadRow(tx: Tx, row: Omit<UploadRow, 'bytes' | 'sha256' | 'arrived_at'>) {
  await tx
    .withTables<Tables>()
    .insertInto('deployment_uploads')
    .values(row as UploadRow)
    .execute();
}

export function findUploadRow(db: Db, { tenantId, appId }: AppRef, id: string) {
  return db
    .withTables<Tables>()
    .selectFrom('deployment_uploads')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, id }))
    .executeTakeFirst();
}

export async function countUploadRows(tx: Tx, { tenantId, appId }: AppRef, since: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from svc.deployment_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and expires_at > ${since}`.execute(tx);
  return rows[0]?.count ?? 0;
}

/** False if source was already stored, or the upload does not exist. */
export async function markArrived(
  db: Db,
  { tenantId, appId }: AppRef,
  { id, ...set }: { id: string; bytes: number; sha256: string; arrived_at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .withTables<Tables>()
    .updateTable('deployment_uploads')
    .set(set)
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, id }))
    .where('arrived_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Of all tenants. */
export async function listUploadRowsBefore(db: Db, before: Date, limit: number): Promise<UploadRow[]> {
  const { rows } = await sql<UploadRow>`
    select * from svc.deployment_uploads where expires_at < ${before} order by expires_at limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function deleteUploadRow(db: Db, { tenantId, appId }: AppRef, id: string): Promise<void> {
  await sql`delete from svc.deployment_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and id = ${id}`.execute(db);
}
