import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import type { AppPlace } from './site-store.ts';

export interface FileRow {
  path: string;
  sha256: string;
  size: number;
}

/** All in one statement, however many there are; of a release of the app alone. */
export async function insertFileRows(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  { releaseId, files }: { releaseId: string; files: readonly FileRow[] },
): Promise<void> {
  await sql`insert into svc.static_files (release_id, path, sha256, size)
    select r.id, f.* from svc.static_releases r, unnest(${files.map(({ path }) => path)}::text[],
      ${files.map(({ sha256 }) => sha256)}::text[], ${files.map(({ size }) => size)}::bigint[]) f
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.id = ${releaseId}`.execute(tx);
}

/** What has not arrived of a release, each content once. */
export async function listMissing(
  db: Db,
  { tenantId, appId }: AppPlace,
  releaseId: string,
): Promise<Pick<FileRow, 'sha256' | 'size'>[]> {
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
  { tenantId, appId }: AppPlace,
  { releaseId, limit, offset }: { releaseId: string } & Window,
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

/** With where its bytes are; undefined also where they have not arrived. */
export async function findStoredFile(
  db: Db,
  { tenantId, appId }: AppPlace,
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

export async function deleteFileRows(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  releaseId: string,
): Promise<void> {
  await sql`delete from svc.static_files f using svc.static_releases r
    where r.id = f.release_id and r.tenant_id = ${tenantId} and r.app_id = ${appId}
      and f.release_id = ${releaseId}`.execute(tx);
}

/** Releases that are never shown again and have files left. */
export async function listDeadReleasesWithFiles(tx: Tx, { tenantId, appId }: AppPlace): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select r.id from svc.static_releases r
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and r.state not in ('draft', 'finalized')
      and exists (select from svc.static_files f where f.release_id = r.id)`.execute(tx);
  return rows.map(({ id }) => id);
}
