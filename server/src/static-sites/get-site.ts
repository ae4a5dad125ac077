import { findAppById } from '../apps/find-app-by-id.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { type SiteRecord, siteAnswer } from './site-answer.ts';
import type { SitePlaces } from './site-urls.ts';

export async function getSite(ctx: AppCtx, places: SitePlaces): Promise<SiteRecord> {
  const app = await findAppById(ctx, { id: ctx.app.id });
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  return siteAnswer(ctx.db, place, { subdomain: app?.subdomain ?? null, places });
}
