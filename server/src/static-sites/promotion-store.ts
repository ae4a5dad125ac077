import type { promotionStatuses } from '@svc/contract/static-sites.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { AppPlace } from './site-store.ts';

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
type Tables = { static_promotions: PromotionRow };

export async function insertPromotionRow(tx: Tx, row: PromotionRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('static_promotions').values(row).execute();
}

/** There is one at most. */
export function findOpenPromotionRow(db: Db, place: AppPlace): Promise<PromotionRow | undefined> {
  return promotionsOf(db, place).selectAll().where('status', '=', 'pending').executeTakeFirst();
}

/** Of the site, or of one release of it. */
export function findLatestPromotionRow(
  db: Db,
  place: AppPlace,
  releaseId?: string,
): Promise<PromotionRow | undefined> {
  const latest = promotionsOf(db, place).selectAll().orderBy('requested_at', 'desc').orderBy('id', 'desc');
  return (releaseId === undefined ? latest : latest.where('release_id', '=', releaseId))
    .limit(1)
    .executeTakeFirst();
}

/** Those for which a promotion was ever asked, whatever became of it. */
export async function listRequestedReleaseIds(db: Db, place: AppPlace): Promise<Set<string>> {
  const rows = await promotionsOf(db, place).select('release_id').distinct().execute();
  return new Set(rows.map(({ release_id }) => release_id));
}

/** Ends the open one, if there is one. */
export function closePromotionRow(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  set: Pick<PromotionRow, 'status' | 'decided_at'> & Partial<Pick<PromotionRow, 'decided_by' | 'reason'>>,
): Promise<PromotionRow | undefined> {
  return tx
    .withTables<Tables>()
    .updateTable('static_promotions')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst();
}

function promotionsOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('static_promotions')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
