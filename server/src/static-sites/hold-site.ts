import type { AppRelation } from '@svc/contract/endpoint.ts';
import { type HeldApp, holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { refuseArchived } from './rules.ts';
import { type AppPlace, insertSiteRow, lockSiteRow, type SiteRow } from './site-store.ts';

export interface HeldSite {
  app: HeldApp;
  place: AppPlace;
  site: SiteRow;
}

/** The site under its lock, for those who may have one; made where there was none. */
export async function holdSite(ctx: AppMutationCtx, { wanted }: { wanted: AppRelation }): Promise<HeldSite> {
  const app = await holdApp(ctx, { wanted });
  refuseArchived(app);
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const there = await lockSiteRow(ctx.db, place);
  if (there) return { app, place, site: there };
  await insertSiteRow(ctx.db, place, ctx.now);
  const made = await lockSiteRow(ctx.db, place);
  if (!made) throw new Error('A site was made and is not there.');
  return { app, place, site: made };
}
