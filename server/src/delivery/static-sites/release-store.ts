import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { releaseStates } from '@svc/contract/static-sites.ts';
import { sql } from 'kysely';
import type { AppAccess, AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { countRows, fetchPage, type PageWindow } from '../../core/paging.ts';

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

export function findReleaseRow(db: Db, ref: AppRef, id: string): Promise<ReleaseRow | undefined> {
  return selectReleases(db, ref).selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockReleaseRow(tx: Tx, ref: AppRef, id: string): Promise<ReleaseRow | undefined> {
  return selectReleases(tx, ref).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function findDraftRow(
  tx: Tx,
  ref: AppRef,
  like: Pick<ReleaseRow, 'manifest_sha256' | 'version' | 'on_finalize'> & { since: Date },
): Promise<ReleaseRow | undefined> {
  return selectReleases(tx, ref)
    .selectAll()
    .where((row) =>
      row.and({
        state: 'draft',
        manifest_sha256: like.manifest_sha256,
        version: like.version,
        on_finalize: like.on_finalize,
      }),
    )
    .where('created_at', '>', like.since)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export function listLiveReleaseRows(tx: Tx, ref: AppRef): Promise<ReleaseRow[]> {
  return selectReleases(tx, ref)
    .selectAll()
    .where('state', 'in', ['draft', 'finalized'])
    .orderBy('number', 'desc')
    .execute();
}

export function listReleaseRows(db: Db, ref: AppRef, window: PageWindow) {
  return fetchPage(selectReleases(db, ref).selectAll().orderBy('number', 'desc'), window);
}

export function updateReleaseRow(
  tx: Tx,
  { tenant_id, app_id, id }: Pick<ReleaseRow, 'tenant_id' | 'app_id' | 'id'>,
  set: Partial<ReleaseRow>,
): Promise<ReleaseRow> {
  return tx
    .withTables<Tables>()
    .updateTable('static_releases')
    .set(set)
    .where((row) => row.and({ tenant_id, app_id, id }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function countDraftRows(tx: Tx, ref: AppRef): Promise<number> {
  return countRows(selectReleases(tx, ref).where('state', '=', 'draft'));
}

export async function listReleaseIds(tx: Tx, ref: AppRef): Promise<string[]> {
  return (await selectReleases(tx, ref).select('id').execute()).map(({ id }) => id);
}

export async function listAppsToCleanUp(
  db: Db,
  { before, retainedMax }: { before: Date; retainedMax: number },
): Promise<AppRef[]> {
  const { rows } = await sql<AppRef>`
    select app_id as "appId", tenant_id as "tenantId" from svc.static_releases
      where state = 'draft' and created_at < ${before}
    union
    select r.app_id, r.tenant_id from svc.static_releases r join svc.static_sites s on s.app_id = r.app_id
      where r.state = 'finalized' and r.id is distinct from s.active_release_id
        and r.id is distinct from s.staged_release_id
      group by r.app_id, r.tenant_id having count(*) > ${retainedMax}
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

function selectReleases(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('static_releases')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

export async function findDeploymentRelease(db: Db, { tenantId, appId }: AppRef, deploymentId: string) {
  const { rows } = await sql<{ id: string; state: ReleaseState; manifest_sha256: string }>`
    select id, state, manifest_sha256 from svc.static_releases
    where tenant_id = ${tenantId} and app_id = ${appId} and deployment_id = ${deploymentId}`.execute(db);
  return rows[0];
}

export async function assignToDeployment(
  tx: Tx,
  { tenantId, appId }: AppRef,
  { id, deploymentId, createdBy, now }: { id: string; deploymentId: string; createdBy: string; now: Date },
): Promise<void> {
  await sql`
    update svc.static_releases set deployment_id = null
    where tenant_id = ${tenantId} and app_id = ${appId} and deployment_id = ${deploymentId}`.execute(tx);
  await sql`
    update svc.static_releases set deployment_id = ${deploymentId}, created_by = ${createdBy}
    where tenant_id = ${tenantId} and app_id = ${appId} and id = ${id} and created_at = ${now}`.execute(tx);
}
