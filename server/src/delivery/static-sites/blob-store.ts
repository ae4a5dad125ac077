import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { ReleaseState } from './release-store.ts';

export interface BlobRow {
  app_id: string;
  tenant_id: string;
  sha256: string;
  size: number;
  blob_id: string;
  gzip_size: number | null;
  brotli_size: number | null;
  stored_at: Date;
}
export type StoredBlob = Pick<BlobRow, 'blob_id' | 'gzip_size' | 'brotli_size'>;

export async function listBlobSizes(db: Db, { tenantId, appId }: AppRef, digests: readonly string[]) {
  const { rows } = await sql<Pick<BlobRow, 'sha256' | 'size'>>`
    select sha256, size from svc.static_blobs
    where tenant_id = ${tenantId} and app_id = ${appId} and sha256 = any(${digests}::text[])`.execute(db);
  return new Map(rows.map(({ sha256, size }) => [sha256, size]));
}

export interface ExpectedBlob {
  state: ReleaseState;
  size: number | null;
  stored: number | null;
}

export async function findExpectedBlob(
  db: Db,
  { tenantId, appId }: AppRef,
  { releaseId, sha256 }: { releaseId: string; sha256: string },
): Promise<ExpectedBlob | undefined> {
  const { rows } = await sql<ExpectedBlob>`
    select r.state,
      (select f.size from svc.static_files f where f.release_id = r.id and f.sha256 = ${sha256} limit 1) as size,
      (select b.size from svc.static_blobs b where b.app_id = r.app_id and b.sha256 = ${sha256}) as stored
    from svc.static_releases r
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.id = ${releaseId}`.execute(db);
  return rows[0];
}

/**
 * The lock keeps the release a draft, so that every stored blob belongs to a release, by which the cleanup
 * finds it.
 */
export async function insertBlobRow(db: Db, row: BlobRow, releaseId: string): Promise<boolean> {
  const { rows } = await sql`
    with draft as (
      select r.id from svc.static_releases r
      where r.tenant_id = ${row.tenant_id} and r.app_id = ${row.app_id} and r.id = ${releaseId} and r.state = 'draft'
      for share)
    insert into svc.static_blobs
      (app_id, tenant_id, sha256, size, blob_id, gzip_size, brotli_size, stored_at)
    select ${row.app_id}, ${row.tenant_id}, ${row.sha256}, ${row.size}::bigint, ${row.blob_id}::uuid,
      ${row.gzip_size}::bigint, ${row.brotli_size}::bigint, ${row.stored_at}::timestamptz from draft
    on conflict do nothing returning blob_id`.execute(db);
  return rows.length > 0;
}

/** Caller must hold the site's row lock. */
export async function deleteUnusedBlobRows(tx: Tx, { tenantId, appId }: AppRef, limit: number) {
  const { rows } = await sql<StoredBlob>`
    delete from svc.static_blobs where tenant_id = ${tenantId} and app_id = ${appId} and sha256 in (
      select b.sha256 from svc.static_blobs b
      where b.tenant_id = ${tenantId} and b.app_id = ${appId} and not exists (
        select from svc.static_files f join svc.static_releases r on r.id = f.release_id
        where f.sha256 = b.sha256 and r.app_id = ${appId} and r.state in ('draft', 'finalized'))
      limit ${limit})
    returning blob_id, gzip_size, brotli_size`.execute(tx);
  return rows;
}

export async function listBlobs(db: Db, { tenantId, appId }: AppRef): Promise<StoredBlob[]> {
  const { rows } = await sql<StoredBlob>`
    select blob_id, gzip_size, brotli_size from svc.static_blobs
    where tenant_id = ${tenantId} and app_id = ${appId}`.execute(db);
  return rows;
}

export async function deleteBlobRows(tx: Tx, { tenantId, appId }: AppRef) {
  const { rows } = await sql<{ files: number; bytes: number }>`
    with gone as (delete from svc.static_blobs where tenant_id = ${tenantId} and app_id = ${appId} returning size)
    select count(*) as files, coalesce(sum(size), 0)::bigint as bytes from gone`.execute(tx);
  return rows[0] ?? { files: 0, bytes: 0 };
}
