import { getSite, setSite } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { mutate } from '../mutation.ts';
import { plain } from '../output.ts';
import { resolveTenant } from '../tenant.ts';
import type { BodyFlagValues } from './release-body.ts';
import { siteView } from './release-views.ts';
import { siteBody } from './site-body.ts';

/** Replaces the configuration; where only flags were given that are ignored, there is nothing to replace it with. */
export async function setConfig(
  ctx: Ctx,
  { app, ...flags }: BodyFlagValues & { app: string },
): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app };
  if (flags['body-json'] === undefined && flags['from-file'] === undefined) return unchanged(ctx, params);
  const body = await siteBody(ctx, flags);
  return mutate(
    ctx,
    setSite,
    { params, body },
    {
      view: siteView,
      present: (site) => {
        for (const notice of site.notices ?? []) ctx.note(plain(notice));
        return site;
      },
    },
  );
}

/** Sent is nothing: what was read a moment ago may be older than what is there. */
async function unchanged(ctx: Ctx, params: { tenantID: string; app: string }): Promise<Result> {
  const site = await (await ctx.client()).call(getSite, { params }, { signal: ctx.signal });
  if (ctx.mutation.mode === 'preview') return mutate(ctx, setSite, { params, body: site.config });
  ctx.note('Nothing was changed: no configuration was given.');
  return { value: { ...site, changed: false }, view: siteView };
}
