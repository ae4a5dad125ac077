import { fileUploadSeconds } from '@svc/contract/file-type.ts';
import { rowFilesPrefix } from '@svc/contract/storage.ts';
import { sql } from 'kysely';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { type SignedBy, signObjectUrl, type UrlSigning } from './signed-urls.ts';
import { blobKey, bytesLeft, requireSpace, requireStorage } from './storage.ts';
import { addToStorageUsage, deleteObjectRow, findObjectRow, lockStorageRow } from './store.ts';

/** A file that was uploaded for a column of a table. */
export interface RowFile {
  id: string;
  tenant_id: string;
  app_id: string;
  table_id: string;
  column_number: number;
  name: string;
  size: number;
  content_type: string;
  created_by: string;
  created_at: Date;
  uploaded_at: Date | null;
  is_used: boolean;
  removing_at: Date | null;
}
type Tables = { row_files: RowFile };

export interface FileColumn {
  tableId: string;
  number: number;
}

export const fileKey = ({
  table_id,
  column_number,
  id,
}: Pick<RowFile, 'table_id' | 'column_number' | 'id'>) =>
  `${rowFilesPrefix}${table_id}/${column_number}/${id}`;

export async function signFileUpload(
  db: Db,
  by: SignedBy,
  signing: UrlSigning,
  { column, name, type, size }: { column: FileColumn; name: string; type: string; size: number },
) {
  const app = { tenantId: by.tenant.id, appId: by.app.id };
  requireSpace(size, bytesLeft(await requireStorage(db, app), undefined));
  const file: RowFile = {
    id: crypto.randomUUID(),
    tenant_id: app.tenantId,
    app_id: app.appId,
    table_id: column.tableId,
    column_number: column.number,
    name,
    size,
    content_type: type,
    created_by: by.caller.userId,
    created_at: by.now,
    uploaded_at: null,
    is_used: false,
    removing_at: null,
  };
  await db.withTables<Tables>().insertInto('row_files').values(file).execute();
  const claims = {
    purpose: 'file.put',
    key: fileKey(file),
    content_type: type,
    size,
    file: file.id,
    expires_in: fileUploadSeconds,
  } as const;
  const { url, expires_at } = signObjectUrl(by, signing, claims);
  const value = { id: file.id, name, size, type };
  return { file: value, put_url: url, expires_at, headers: { 'content-type': type } };
}

export async function finishFileUpload(
  ctx: MutationCtx,
  { tenantId, appId }: AppRef,
  id: string,
): Promise<void> {
  const { numAffectedRows } = await sql`update svc.row_files set uploaded_at = ${ctx.now}
    where tenant_id = ${tenantId} and app_id = ${appId} and id = ${id} and removing_at is null`.execute(
    ctx.db,
  );
  if (numAffectedRows !== 1n) throw fail('url_expired');
}

/** Returns the files that rows of the table may have. */
export async function findUploadedFiles(
  db: Db,
  { tenantId, appId, tableId }: AppRef & { tableId: string },
  ids: readonly string[],
): Promise<RowFile[]> {
  const { rows } = await sql<RowFile>`select * from svc.row_files
    where tenant_id = ${tenantId} and app_id = ${appId} and table_id = ${tableId} and id = any (${ids})
    and uploaded_at is not null and removing_at is null`.execute(db);
  return rows;
}

export async function listFilesById(db: Db, ids: readonly string[]): Promise<RowFile[]> {
  const { rows } = await sql<RowFile>`select * from svc.row_files where id = any (${ids})`.execute(db);
  return rows;
}

/** Never in a row so far, or of a column that is gone. */
export async function listUnusedFiles(db: Db, before: Date, limit: number): Promise<RowFile[]> {
  const { rows } = await sql<RowFile>`
    (select * from svc.row_files where not is_used and removing_at is null and created_at < ${before} limit ${limit})
    union
    (select f.* from svc.row_files f where removing_at is null and not exists (
      select from svc.app_table_columns c where c.table_id = f.table_id and c.number = f.column_number) limit ${limit})`.execute(
    db,
  );
  return rows;
}

export async function listRemovedFiles(db: Db, before: Date, limit: number): Promise<RowFile[]> {
  const { rows } = await sql<RowFile>`select * from svc.row_files
    where removing_at < ${before} order by removing_at limit ${limit}`.execute(db);
  return rows;
}

export async function setFileState(
  db: Db,
  { tenant_id, id }: Pick<RowFile, 'tenant_id' | 'id'>,
  set: Partial<Pick<RowFile, 'is_used' | 'removing_at'>>,
): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('row_files')
    .set(set)
    .where((e) => e.and({ tenant_id, id }))
    .execute();
}

/** The bytes first: if that fails, the file is still known and tried again. */
export async function deleteFile(
  { db, objects }: { db: Db; objects: ObjectStore },
  file: RowFile,
): Promise<void> {
  const app = { tenantId: file.tenant_id, appId: file.app_id };
  const key = fileKey(file);
  const object = await findObjectRow(db, app, key);
  if (object) await objects.delete(blobKey(app, object.blob_id));
  await db.transaction().execute(async (tx) => {
    await lockStorageRow(tx, app);
    const row = await findObjectRow(tx, app, key);
    if (row) {
      await deleteObjectRow(tx, app, key);
      await addToStorageUsage(tx, app, { objects: -1, bytes: -row.size });
    }
    await sql`delete from svc.row_files where tenant_id = ${file.tenant_id} and id = ${file.id}`.execute(tx);
  });
}
