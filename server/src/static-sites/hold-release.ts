import type { AppRelation } from '@svc/contract/endpoint.ts';
import { type HeldApp, holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findOpenPromotionRow, type PromotionRow } from './promotion-store.ts';
import { lockReleaseRow, type ReleaseRow } from './release-store.ts';
import { refuseArchived } from './rules.ts';
import { type AppPlace, lockSiteRow, type SiteRow } from './site-store.ts';

/** A release of the app with the site that it belongs to, all under their locks: first the app, then the site. */
export interface HeldRelease {
  app: HeldApp;
  place: AppPlace;
  site: SiteRow;
  release: ReleaseRow;
  /** The promotion that waits for its review, of this release or of another. */
  open: PromotionRow | undefined;
}

/** `archived`: whether an app that is archived is one that this can be done with. */
export async function holdRelease(
  ctx: AppMutationCtx,
  { id, wanted, archived }: { id: string; wanted: AppRelation; archived: 'refused' | 'allowed' },
): Promise<HeldRelease> {
  const app = await holdApp(ctx, { wanted });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const site = await lockSiteRow(ctx.db, place);
  const release = site && (await lockReleaseRow(ctx.db, place, id));
  if (!release) throw fail('not_found');
  if (archived === 'refused') refuseArchived(app);
  return { app, place, site, release, open: await findOpenPromotionRow(ctx.db, place) };
}
