import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { releaseRecord } from './records.ts';
import { listReleaseRows } from './release-store.ts';
import { findSiteRow } from './site-store.ts';

export async function listReleases(ctx: AppCtx, query: PageQuery) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const { rows, total } = await listReleaseRows(ctx.db, place, windowOf(query));
  const parts = {
    site: await findSiteRow(ctx.db, place),
    open: await findOpenPromotionRow(ctx.db, place),
  };
  return pageAnswer(
    query,
    rows.map((row) => releaseRecord(row, parts)),
    total,
  );
}
