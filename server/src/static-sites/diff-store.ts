import type { fileChanges } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import type { AppPlace } from './site-store.ts';

export type FileChange = (typeof fileChanges)[number];

export interface FileChangeRow {
  path: string;
  change: FileChange;
  sha256: string | null;
  size: number | null;
  before_sha256: string | null;
  before_size: number | null;
}

/** `against` null: there is nothing to compare with, so all is new. */
export interface ReleasePair {
  release: string;
  against: string | null;
}

export async function listFileChanges(
  db: Db,
  place: AppPlace,
  {
    change,
    limit,
    offset,
    ...pair
  }: ReleasePair & { change?: FileChange | 'different' | undefined } & Window,
): Promise<FileChangeRow[]> {
  const wanted =
    change === undefined
      ? sql`true`
      : change === 'different'
        ? sql`change <> 'same'`
        : sql`change = ${change}`;
  const { rows } = await sql<FileChangeRow>`
    select path, change, sha256, size, before_sha256, before_size from (${changesOf(place, pair)}) c
    where ${wanted} order by path collate "C" limit ${limit} offset ${offset}`.execute(db);
  return rows;
}

export async function countFileChanges(
  db: Db,
  place: AppPlace,
  pair: ReleasePair,
): Promise<Record<FileChange, number>> {
  const { rows } = await sql<{ change: FileChange; files: number }>`
    select change, count(*) as files from (${changesOf(place, pair)}) c group by change`.execute(db);
  const files = Object.fromEntries(rows.map((row) => [row.change, row.files]));
  return { added: 0, removed: 0, changed: 0, same: 0, ...files };
}

function changesOf(place: AppPlace, { release, against }: ReleasePair) {
  return sql`
    select path, n.sha256, n.size, o.sha256 as before_sha256, o.size as before_size,
      case when o.sha256 is null then 'added' when n.sha256 is null then 'removed'
        when n.sha256 = o.sha256 then 'same' else 'changed' end as change
    from (${filesOf(place, release)}) n full join (${filesOf(place, against)}) o using (path)`;
}

function filesOf({ tenantId, appId }: AppPlace, releaseId: string | null) {
  return sql`select f.path, f.sha256, f.size from svc.static_files f
    join svc.static_releases r on r.id = f.release_id
    where r.tenant_id = ${tenantId} and r.app_id = ${appId} and f.release_id = ${releaseId}::uuid`;
}
