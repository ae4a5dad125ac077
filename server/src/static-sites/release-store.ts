import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { releaseStates } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import type { AppAccess } from '../plumbing/context.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import type { AppPlace } from './site-store.ts';

export type ReleaseState = (typeof releaseStates)[number];

export interface ReleaseRow {
  id: string;
  app_id: string;
  tenant_id: string;
  number: number;
  version: string;
  state: ReleaseState;
  manifest_sha256: string;
  files: number;
  bytes: number;
  own_config: SiteConfig;
  served_config: SiteConfig;
  on_finalize: 'nothing' | 'deploy';
  reviewed_for: Exclude<AppAccess['visibility'], 'private'> | null;
  created_by: string;
  created_at: Date;
  finalized_at: Date | null;
  activated_at: Date | null;
  revoked_by: string | null;
  revoked_at: Date | null;
}
type Tables = { static_releases: ReleaseRow };

export async function insertReleaseRow(tx: Tx, row: ReleaseRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('static_releases').values(row).execute();
}

export function findReleaseRow(db: Db, place: AppPlace, id: string): Promise<ReleaseRow | undefined> {
  return releasesOf(db, place).selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockReleaseRow(tx: Tx, place: AppPlace, id: string): Promise<ReleaseRow | undefined> {
  return releasesOf(tx, place).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** By what was asked for: a deployment that was interrupted goes on with it. */
export function findDraftRow(
  tx: Tx,
  place: AppPlace,
  like: Pick<ReleaseRow, 'manifest_sha256' | 'version' | 'on_finalize'> & { since: Date },
): Promise<ReleaseRow | undefined> {
  return releasesOf(tx, place)
    .selectAll()
    .where('state', '=', 'draft')
    .where('manifest_sha256', '=', like.manifest_sha256)
    .where('version', '=', like.version)
    .where('on_finalize', '=', like.on_finalize)
    .where('created_at', '>', like.since)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Those that can still be shown, or are on their way to it; the newest first. */
export function listLiveReleaseRows(tx: Tx, place: AppPlace): Promise<ReleaseRow[]> {
  return releasesOf(tx, place)
    .selectAll()
    .where('state', 'in', ['draft', 'finalized'])
    .orderBy('number', 'desc')
    .execute();
}

export async function listReleaseRows(db: Db, place: AppPlace, window: Window) {
  const rows = await releasesOf(db, place)
    .selectAll()
    .orderBy('number', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await releasesOf(db, place)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

export function updateReleaseRow(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  { id, set }: { id: string; set: Partial<ReleaseRow> },
): Promise<ReleaseRow> {
  return tx
    .withTables<Tables>()
    .updateTable('static_releases')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function countDraftRows(tx: Tx, place: AppPlace): Promise<number> {
  const { count } = await releasesOf(tx, place)
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('state', '=', 'draft')
    .executeTakeFirstOrThrow();
  return count;
}

export async function listReleaseIds(tx: Tx, place: AppPlace): Promise<string[]> {
  const rows = await releasesOf(tx, place).select('id').execute();
  return rows.map(({ id }) => id);
}

/**
 * In every tenant: apps with drafts of before, with more finalized releases than are kept, or with lists or bytes of releases
 * that are never shown again. The sweep alone asks.
 */
export async function listPlacesToSweep(
  db: Db,
  { before, keptMax }: { before: Date; keptMax: number },
): Promise<AppPlace[]> {
  const { rows } = await sql<AppPlace>`
    select app_id as "appId", tenant_id as "tenantId" from svc.static_releases
      where state = 'draft' and created_at < ${before}
    union
    select r.app_id, r.tenant_id from svc.static_releases r join svc.static_sites s on s.app_id = r.app_id
      where r.state = 'finalized' and r.id is distinct from s.active_release_id
        and r.id is distinct from s.staged_release_id
      group by r.app_id, r.tenant_id having count(*) > ${keptMax}
    union
    select r.app_id, r.tenant_id from svc.static_releases r
      where r.state not in ('draft', 'finalized')
        and exists (select from svc.static_files f where f.release_id = r.id)
    union
    select b.app_id, b.tenant_id from svc.static_blobs b where not exists (
      select from svc.static_files f join svc.static_releases r on r.id = f.release_id
      where f.sha256 = b.sha256 and r.app_id = b.app_id and r.state in ('draft', 'finalized'))`.execute(db);
  return rows;
}

function releasesOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('static_releases')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
