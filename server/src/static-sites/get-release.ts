import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { type ReleaseRecord, releaseRecord } from './records.ts';
import { findReleaseRow } from './release-store.ts';
import { findSiteRow } from './site-store.ts';

export async function getRelease(ctx: AppCtx, { id }: { id: string }): Promise<ReleaseRecord> {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const row = await findReleaseRow(ctx.db, place, id);
  if (!row) throw fail('not_found');
  return releaseRecord(row, {
    site: await findSiteRow(ctx.db, place),
    open: await findOpenPromotionRow(ctx.db, place),
  });
}
