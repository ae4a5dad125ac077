import { rowFilesPrefix } from '@svc/contract/storage.ts';
import { type RawBuilder, sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

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
interface UploadRow {
  blob_id: string;
  app_id: string;
  tenant_id: string;
  started_at: Date;
}
type Tables = { app_storage: StorageRow; storage_objects: ObjectRow; storage_uploads: UploadRow };

export function findStorageRow(db: Db, app: AppRef): Promise<StorageRow | undefined> {
  return storageQuery(db, app).selectAll().executeTakeFirst();
}

export function lockStorageRow(tx: Db, app: AppRef): Promise<StorageRow | undefined> {
  return storageQuery(tx, app).selectAll().forUpdate().executeTakeFirst();
}

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

export async function addToStorageUsage(
  tx: Db,
  { tenantId, appId }: AppRef,
  change: { objects: number; bytes: number },
): Promise<void> {
  await sql`update svc.app_storage set objects = objects + ${change.objects}, bytes = bytes + ${change.bytes}
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(tx);
}

export async function deleteStorageRow(tx: Tx, { tenantId, appId }: AppRef): Promise<void> {
  await sql`delete from svc.app_storage where tenant_id = ${tenantId} and app_id = ${appId}`.execute(tx);
}

export function findObjectRow(db: Db, app: AppRef, key: string): Promise<ObjectRow | undefined> {
  return objectsQuery(db, app).selectAll().where('key', '=', key).executeTakeFirst();
}

export function upsertObjectRow(tx: Tx, row: ObjectRow): Promise<ObjectRow> {
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

export async function deleteObjectRow(tx: Db, { tenantId, appId }: AppRef, key: string): Promise<void> {
  await sql`delete from svc.storage_objects
    where tenant_id = ${tenantId} and app_id = ${appId} and key = ${key}`.execute(tx);
}

export async function deleteObjectRowsBatch(db: Db, { tenantId, appId }: AppRef): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from svc.storage_objects where ctid in (
    select ctid from svc.storage_objects where tenant_id = ${tenantId} and app_id = ${appId} limit ${deletedRowsMax})
    and tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return numAffectedRows === BigInt(deletedRowsMax);
}

const deletedRowsMax = 10_000;

export async function isBlobUsed(db: Db, app: AppRef, blobId: string): Promise<boolean> {
  const query = objectsQuery(db, app).select('key').where('blob_id', '=', blobId).limit(1);
  return (await query.execute()).length > 0;
}

export async function insertUploadRow(db: Db, row: UploadRow): Promise<void> {
  await db.withTables<Tables>().insertInto('storage_uploads').values(row).execute();
}

export async function deleteUploadRow(db: Db, { tenantId, appId }: AppRef, blobId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from svc.storage_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and blob_id = ${blobId}`.execute(db);
  return numAffectedRows === 1n;
}

export async function lockUploadRow(db: Db, { tenantId, appId }: AppRef, blobId: string): Promise<boolean> {
  const { rows } = await sql`select from svc.storage_uploads
    where tenant_id = ${tenantId} and app_id = ${appId} and blob_id = ${blobId} for update`.execute(db);
  return rows.length > 0;
}

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

function storageQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_storage')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

function objectsQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('storage_objects')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

type ListedRow = ObjectRow & { prefix: string | null; after: string };

interface ListWindow {
  prefix: string;
  delimiter: string;
  after: string;
  limit: number;
}

/** No key contains this character, so keys that start with `x` are those between `x` and `x` + this character. */
const highestCharacter = sql`chr(1114111)`;

/** With a delimiter, each recursion step looks up the next key: a group costs one index lookup, whatever its size. */
export async function listObjectRows(db: Db, app: AppRef, window: ListWindow): Promise<ListedRow[]> {
  const { prefix, delimiter, limit } = window;
  const { tenantId, appId } = app;
  const inListing = sql`tenant_id = ${tenantId} and app_id = ${appId} and key >= ${prefix} and key < ${prefix} || ${highestCharacter}`;
  /** The next objects after a key. Two ranges, so that files of rows are not even read. */
  const next = (after: RawBuilder<unknown>, group: RawBuilder<unknown>, count: number) => {
    const range = (bounds: RawBuilder<unknown>) => sql`(select *, ${group} as prefix from svc.storage_objects
      where ${inListing} and key > ${after} and ${bounds} order by key limit ${count})`;
    return sql`${range(sql`key < ${rowFilesPrefix}`)} union all
      ${range(sql`key >= ${rowFilesPrefix} || ${highestCharacter}`)} order by key limit ${count}`;
  };
  if (delimiter === '') {
    const { rows } = await sql<ListedRow>`
      select *, key as after from (${next(sql`${window.after}`, sql`null`, limit)}) found order by key`.execute(
      db,
    );
    return rows;
  }
  const rest = sql`substr(key, ${[...prefix].length + 1}::int)`;
  const at = sql`strpos(${rest}, ${delimiter})`;
  const group = sql`case when ${at} > 0
    then ${prefix}::text || left(${rest}, ${at} - 1) || ${delimiter}::text collate "C" end`;
  const { rows } = await sql<ListedRow>`
    with recursive found as (
      select first.*, coalesce(first.prefix || ${highestCharacter}, first.key) as after, 1 as number
      from (${next(sql`${window.after}`, group, 1)}) first
      union all
      select next.*, coalesce(next.prefix || ${highestCharacter}, next.key) as after, found.number + 1
      from found, lateral (${next(sql`found.after`, group, 1)}) next
      where found.number < ${limit}
    ) select * from found order by number`.execute(db);
  return rows;
}
