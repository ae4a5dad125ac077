import { sql } from 'kysely';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface StorageRow {
  app_id: string;
  tenant_id: string;
  enabled_by: string;
  enabled_at: Date;
  objects: number;
  bytes: number;
}
export interface ObjectRow {
  app_id: string;
  key: string;
  tenant_id: string;
  blob_id: string;
  size: number;
  content_type: string;
  sha256: string;
  created_by: string;
  created_at: Date;
  updated_at: Date;
}
export interface UploadRow {
  blob_id: string;
  app_id: string;
  tenant_id: string;
  started_at: Date;
}
type Tables = { app_storage: StorageRow; storage_objects: ObjectRow; storage_uploads: UploadRow };

export function findStorageRow(db: Db, place: AppPlace): Promise<StorageRow | undefined> {
  return storageOf(db, place).selectAll().executeTakeFirst();
}

/** Puts all who change objects of the app in line, so that what is counted is what is there. */
export function lockStorageRow(tx: Tx, place: AppPlace): Promise<StorageRow | undefined> {
  return storageOf(tx, place).selectAll().forUpdate().executeTakeFirst();
}

/** Undefined where it was enabled already. */
export function insertStorageRow(
  tx: Tx,
  row: Omit<StorageRow, 'objects' | 'bytes'>,
): Promise<StorageRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('app_storage')
    .values({ ...row, objects: 0, bytes: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function countChange(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  more: { objects: number; bytes: number },
): Promise<void> {
  await sql`update svc.app_storage set objects = objects + ${more.objects}, bytes = bytes + ${more.bytes}
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(tx);
}

export async function deleteStorageRow(tx: Tx, { tenantId, appId }: AppPlace): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('app_storage')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
}

export function findObjectRow(db: Db, place: AppPlace, key: string): Promise<ObjectRow | undefined> {
  return objectsOf(db, place).selectAll().where('key', '=', key).executeTakeFirst();
}

/** Takes the place of what was under the key; since when there has been an object of that name stays. */
export function putObjectRow(tx: Tx, row: ObjectRow): Promise<ObjectRow> {
  const { blob_id, size, content_type, sha256, updated_at } = row;
  return tx
    .withTables<Tables>()
    .insertInto('storage_objects')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'key']).doUpdateSet({ blob_id, size, content_type, sha256, updated_at }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteObjectRow(tx: Tx, { tenantId, appId }: AppPlace, key: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('storage_objects')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('key', '=', key)
    .execute();
}

/** Whether there may be more. */
export async function deleteSomeObjectRows(db: Db, { tenantId, appId }: AppPlace): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from svc.storage_objects where ctid in (
    select ctid from svc.storage_objects where tenant_id = ${tenantId} and app_id = ${appId} limit ${deletedAtOnceMax})
    and tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return numAffectedRows === BigInt(deletedAtOnceMax);
}

/** Well within the time that a statement has. */
const deletedAtOnceMax = 10_000;

export async function isBlobUsed(db: Db, place: AppPlace, blobId: string): Promise<boolean> {
  const row = await objectsOf(db, place)
    .select('key')
    .where('blob_id', '=', blobId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertUploadRow(db: Db, row: UploadRow): Promise<void> {
  await db.withTables<Tables>().insertInto('storage_uploads').values(row).execute();
}

/** Whether it was still there. */
export async function deleteUploadRow(db: Db, place: AppPlace, blobId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .withTables<Tables>()
    .deleteFrom('storage_uploads')
    .where('tenant_id', '=', place.tenantId)
    .where('app_id', '=', place.appId)
    .where('blob_id', '=', blobId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Waits for whoever is about to end it well. */
export async function lockUploadRow(db: Db, place: AppPlace, blobId: string): Promise<boolean> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('storage_uploads')
    .select('blob_id')
    .where('tenant_id', '=', place.tenantId)
    .where('app_id', '=', place.appId)
    .where('blob_id', '=', blobId)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Of every tenant: for the sweep alone. */
export function listUploadRowsBefore(db: Db, before: Date, limit: number): Promise<UploadRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('storage_uploads')
    .selectAll()
    .where('started_at', '<', before)
    .orderBy('started_at')
    .limit(limit)
    .execute();
}

function storageOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('app_storage')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}

function objectsOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('storage_objects')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
