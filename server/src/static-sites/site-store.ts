import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface SiteRow {
  app_id: string;
  tenant_id: string;
  config: SiteConfig;
  staging_enabled: boolean;
  is_published: boolean;
  active_release_id: string | null;
  staged_release_id: string | null;
  /** Moves with each pointer, with whether the site is published, and with how the staged release is served. */
  generation: number;
  next_number: number;
  created_at: Date;
  updated_at: Date;
}
type Tables = { static_sites: SiteRow };

export interface AppPlace {
  tenantId: string;
  appId: string;
}

export function findSiteRow(db: Db, place: AppPlace): Promise<SiteRow | undefined> {
  return siteOf(db, place).selectAll().executeTakeFirst();
}

/** Puts all who change the site or its releases in line. */
export function lockSiteRow(tx: Tx, place: AppPlace): Promise<SiteRow | undefined> {
  return siteOf(tx, place).selectAll().forUpdate().executeTakeFirst();
}

/** Nothing happens where there is one. */
export async function insertSiteRow(tx: Tx, { tenantId, appId }: AppPlace, now: Date): Promise<void> {
  await tx
    .withTables<{ static_sites: Partial<SiteRow> }>()
    .insertInto('static_sites')
    .values({ app_id: appId, tenant_id: tenantId, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export function updateSiteRow(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  set: Partial<SiteRow> & { updated_at: Date },
): Promise<SiteRow> {
  return tx
    .withTables<Tables>()
    .updateTable('static_sites')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

function siteOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('static_sites')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
