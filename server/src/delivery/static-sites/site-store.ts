import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { promotionStatuses } from '@svc/contract/static-sites.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export interface SiteRow {
  app_id: string;
  tenant_id: string;
  config: SiteConfig;
  staging_enabled: boolean;
  is_published: boolean;
  active_release_id: string | null;
  staged_release_id: string | null;
  /** Increases when a pointer, the published state or the configuration of the staged release changes. */
  generation: number;
  next_number: number;
  created_at: Date;
  updated_at: Date;
}
type SiteTables = { static_sites: SiteRow };

export function findSiteRow(db: Db, ref: AppRef): Promise<SiteRow | undefined> {
  return selectSite(db, ref).selectAll().executeTakeFirst();
}

export function lockSiteRow(tx: Tx, ref: AppRef): Promise<SiteRow | undefined> {
  return selectSite(tx, ref).selectAll().forUpdate().executeTakeFirst();
}

export async function insertSiteRow(tx: Tx, { tenantId, appId }: AppRef, now: Date): Promise<void> {
  await tx
    .withTables<{ static_sites: Partial<SiteRow> }>()
    .insertInto('static_sites')
    .values({ app_id: appId, tenant_id: tenantId, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export function updateSiteRow(
  tx: Tx,
  { tenantId, appId }: AppRef,
  set: Partial<SiteRow> & { updated_at: Date },
): Promise<SiteRow> {
  return tx
    .withTables<SiteTables>()
    .updateTable('static_sites')
    .set(set)
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

function selectSite(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<SiteTables>()
    .selectFrom('static_sites')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

export interface PromotionRow {
  id: string;
  app_id: string;
  tenant_id: string;
  release_id: string;
  digest: string;
  generation: number;
  status: (typeof promotionStatuses)[number];
  note: string;
  requested_by: string;
  requested_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
  reason: string;
}
type PromotionTables = { static_promotions: PromotionRow };

export async function insertPromotionRow(tx: Tx, row: PromotionRow): Promise<void> {
  await tx.withTables<PromotionTables>().insertInto('static_promotions').values(row).execute();
}

export function findOpenPromotionRow(db: Db, ref: AppRef): Promise<PromotionRow | undefined> {
  return selectPromotions(db, ref).selectAll().where('status', '=', 'pending').executeTakeFirst();
}

export function findLatestPromotionRow(db: Db, ref: AppRef, releaseId?: string) {
  const latest = selectPromotions(db, ref).selectAll().orderBy('requested_at', 'desc').orderBy('id', 'desc');
  return (releaseId === undefined ? latest : latest.where('release_id', '=', releaseId))
    .limit(1)
    .executeTakeFirst();
}

export async function listRequestedReleaseIds(db: Db, ref: AppRef): Promise<Set<string>> {
  const rows = await selectPromotions(db, ref).select('release_id').distinct().execute();
  return new Set(rows.map(({ release_id }) => release_id));
}

export function closePromotionRow(
  tx: Tx,
  { tenantId, appId }: AppRef,
  set: Pick<PromotionRow, 'status' | 'decided_at'> & Partial<Pick<PromotionRow, 'decided_by' | 'reason'>>,
): Promise<PromotionRow | undefined> {
  return tx
    .withTables<PromotionTables>()
    .updateTable('static_promotions')
    .set(set)
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId, status: 'pending' }))
    .returningAll()
    .executeTakeFirst();
}

function selectPromotions(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<PromotionTables>()
    .selectFrom('static_promotions')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}
