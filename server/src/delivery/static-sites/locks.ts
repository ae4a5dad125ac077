import type { AppRelation } from '@svc/contract/endpoint.ts';
import { lockAppFor } from '../../apps/record/app-access.ts';
import type { AppMutationCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { lockReleaseRow } from './release-store.ts';
import { requireNotArchived } from './rules.ts';
import { findOpenPromotionRow, insertSiteRow, lockSiteRow } from './site-store.ts';

export type LockedSite = Awaited<ReturnType<typeof lockSite>>;

export async function lockSite(ctx: AppMutationCtx, { wanted }: { wanted: AppRelation }) {
  const app = await lockAppFor(ctx, { required: wanted });
  requireNotArchived(app);
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  const existing = await lockSiteRow(ctx.db, ref);
  if (existing) return { app, ref, site: existing };
  await insertSiteRow(ctx.db, ref, ctx.now);
  const created = await lockSiteRow(ctx.db, ref);
  if (!created) throw new Error('The new site row is missing.');
  return { app, ref, site: created };
}

/** A release with its site and app. Lock order: app, site, release. */
export type LockedRelease = Awaited<ReturnType<typeof lockRelease>>;

export async function lockRelease(
  ctx: AppMutationCtx,
  { id, wanted, archived }: { id: string; wanted: AppRelation; archived: 'refused' | 'allowed' },
) {
  const app = await lockAppFor(ctx, { required: wanted });
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  const site = await lockSiteRow(ctx.db, ref);
  const release = site && (await lockReleaseRow(ctx.db, ref, id));
  if (!release) throw fail('not_found');
  if (archived === 'refused') requireNotArchived(app);
  return { app, ref, site, release, open: await findOpenPromotionRow(ctx.db, ref) };
}
