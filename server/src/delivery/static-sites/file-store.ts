import type { fileChanges } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import type { ReleaseState } from './release-store.ts';

export interface FileRow {
  path: string;
  sha256: string;
  size: number;
}

export async function insertFileRows(
  tx: Tx,
  { tenantId, appId }: AppRef,
  { releaseId, files }: { releaseId: string; files: readonly FileRow[] },
): Promise<void> {
  await sql`insert into svc.static_files (release_id, path, sha256, size)
    select r.id, f.* from svc.static_releases r, unnest(${files.map(({ path }) => path)}::text[],
      ${files.map(({ sha256 }) => sha256)}::text[], ${files.map(({ size }) => size)}::bigint[]) f
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.id = ${releaseId}`.execute(tx);
}

export async function listMissing(db: Db, { tenantId, appId }: AppRef, releaseId: string) {
  const { rows } = await sql<Pick<FileRow, 'sha256' | 'size'>>`
    select distinct f.sha256, f.size from svc.static_files f
    join svc.static_releases r on r.id = f.release_id
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}
      and not exists (select from svc.static_blobs b
        where b.app_id = ${appId} and b.sha256 = f.sha256 and b.size = f.size)
    order by f.sha256`.execute(db);
  return rows;
}

export async function listFileRows(
  db: Db,
  { tenantId, appId }: AppRef,
  { releaseId, limit, offset }: { releaseId: string } & PageWindow,
): Promise<{ rows: FileRow[]; total: number }> {
  const { rows } = await sql<FileRow>`
    select f.path, f.sha256, f.size from svc.static_files f
    join svc.static_releases r on r.id = f.release_id
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}
    order by f.path collate "C" limit ${limit} offset ${offset}`.execute(db);
  const { rows: counts } = await sql<{ total: number }>`
    select count(*) as total from svc.static_files f join svc.static_releases r on r.id = f.release_id
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}`.execute(db);
  return { rows, total: counts[0]?.total ?? 0 };
}

export async function findStoredFile(
  db: Db,
  { tenantId, appId }: AppRef,
  { releaseId, path }: { releaseId: string; path: string },
): Promise<(FileRow & { blob_id: string }) | undefined> {
  const { rows } = await sql<FileRow & { blob_id: string }>`
    select f.path, f.sha256, f.size, b.blob_id from svc.static_files f
    join svc.static_releases r on r.id = f.release_id
    join svc.static_blobs b on b.tenant_id = r.tenant_id and b.app_id = r.app_id and b.sha256 = f.sha256
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}
      and f.path = ${path}`.execute(db);
  return rows[0];
}

export async function deleteFileRows(tx: Tx, { tenantId, appId }: AppRef, releaseId: string): Promise<void> {
  await sql`delete from svc.static_files f using svc.static_releases r
    where r.id = f.release_id and r.tenant_id = ${tenantId} and r.app_id = ${appId}
      and f.release_id = ${releaseId}`.execute(tx);
}

export async function listEndedReleasesWithFiles(tx: Tx, { tenantId, appId }: AppRef): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select r.id from svc.static_releases r
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.state not in ('draft', 'finalized')
      and exists (select from svc.static_files f where f.release_id = r.id)`.execute(tx);
  return rows.map(({ id }) => id);
}

type FileChange = (typeof fileChanges)[number];

interface FileChangeRow {
  path: string;
  change: FileChange;
  sha256: string | null;
  size: number | null;
  before_sha256: string | null;
  before_size: number | null;
}

interface ReleasePair {
  release: string;
  against: string | null;
}

export async function listFileChanges(
  db: Db,
  ref: AppRef,
  {
    change,
    limit,
    offset,
    ...pair
  }: ReleasePair & { change?: FileChange | 'different' | undefined } & PageWindow,
): Promise<FileChangeRow[]> {
  const filter =
    change === undefined
      ? sql`true`
      : change === 'different'
        ? sql`change <> 'same'`
        : sql`change = ${change}`;
  const { rows } = await sql<FileChangeRow>`
    select path, change, sha256, size, before_sha256, before_size from (${changesQuery(ref, pair)}) c
    where ${filter} order by path collate "C" limit ${limit} offset ${offset}`.execute(db);
  return rows;
}

export async function countFileChanges(
  db: Db,
  ref: AppRef,
  pair: ReleasePair,
): Promise<Record<FileChange, number>> {
  const { rows } = await sql<{ change: FileChange; files: number }>`
    select change, count(*) as files from (${changesQuery(ref, pair)}) c group by change`.execute(db);
  const files = Object.fromEntries(rows.map((row) => [row.change, row.files]));
  return { added: 0, removed: 0, changed: 0, same: 0, ...files };
}

function changesQuery(ref: AppRef, { release, against }: ReleasePair) {
  return sql`
    select path, n.sha256, n.size, o.sha256 as before_sha256, o.size as before_size,
      case when o.sha256 is null then 'added' when n.sha256 is null then 'removed'
        when n.sha256 = o.sha256 then 'same' else 'changed' end as change
    from (${filesQuery(ref, release)}) n full join (${filesQuery(ref, against)}) o using (path)`;
}

function filesQuery({ tenantId, appId }: AppRef, releaseId: string | null) {
  return sql`select f.path, f.sha256, f.size from svc.static_files f
    join svc.static_releases r on r.id = f.release_id
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}::uuid`;
}

interface BlobRow {
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

interface ExpectedBlob {
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

/** The lock keeps the release a draft, so that the cleanup finds every stored blob by a release. */
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
