import { getApp } from '@svc/contract/apps.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../tenant.ts';

/** Whether a slug that a file says is that of the app; the server knows it of one that is named by its id. */
export async function isSlugOf(ctx: Ctx, app: string, slug: string): Promise<boolean> {
  if (!uuidPattern.test(app)) return slug === app;
  const params = { tenantID: await resolveTenant(ctx), app };
  return (await (await ctx.client()).call(getApp, { params }, { signal: ctx.signal })).slug === slug;
}
