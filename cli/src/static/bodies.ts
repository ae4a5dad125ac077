import type { Input } from '@svc/contract/endpoint.ts';
import { siteConfigBytesMax } from '@svc/contract/site-config.ts';
import type * as shapes from '@svc/contract/static-sites.shapes.ts';
import { createRelease, getSite, setSite } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { parseDocumentText } from '../inputs/document.ts';
import { inputName, readInputText } from '../inputs/files.ts';
import { mutate } from '../mutation.ts';
import { resolveTenant } from '../session/tenant.ts';
import { retiredNote } from './flags.ts';
import { parseSiteConfig } from './site-config.ts';
import { siteView } from './views.ts';

export interface BodyFlagValues {
  'body-json': string | undefined;
  'from-file': string | undefined;
}

export async function releaseBody(
  ctx: Ctx,
  flags: BodyFlagValues,
): Promise<Input<typeof shapes.createRelease>['body']> {
  const { text, shown } = await bodyText(ctx, flags, createRelease.bodyBytesMax ?? 0);
  return (await parseDocumentText(text, shown)) as Input<typeof shapes.createRelease>['body'];
}

export async function bodyText(
  ctx: Ctx,
  flags: BodyFlagValues,
  bytesMax: number,
): Promise<{ text: string; shown: string }> {
  const { 'body-json': json, 'from-file': file = '-' } = flags;
  if (json !== undefined) return { text: json, shown: '--body-json' };
  return { text: await readInputText(ctx, file, { bytesMax }), shown: file };
}

/** Validated by the client too, so that errors have a position in the file. */
export async function siteBody(
  ctx: Ctx,
  flags: BodyFlagValues,
): Promise<Input<typeof shapes.setSite>['body']> {
  const { text, shown } = await bodyText(ctx, flags, siteConfigBytesMax);
  const { config, retired } = parseSiteConfig(text, inputName(shown), { form: 'either' });
  for (const key of retired) ctx.note(retiredNote(key));
  return config;
}

export async function setConfig(
  ctx: Ctx,
  { app, ...flags }: BodyFlagValues & { app: string },
): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app };
  if (flags['body-json'] === undefined && flags['from-file'] === undefined) return skipUpdate(ctx, params);
  const body = await siteBody(ctx, flags);
  return mutate(
    ctx,
    setSite,
    { params, body },
    {
      view: siteView,
      present: (site) => {
        for (const notice of site.notices ?? []) ctx.note(sanitize(notice));
        return site;
      },
    },
  );
}

/** Sends nothing, because the configuration may have changed since it was read. */
async function skipUpdate(ctx: Ctx, params: { tenantID: string; app: string }): Promise<Result> {
  const site = await (await ctx.client()).call(getSite, { params });
  if (ctx.mutation.mode === 'preview') return mutate(ctx, setSite, { params, body: site.config });
  ctx.note('Nothing has changed: no configuration was provided.');
  return { value: { ...site, changed: false }, view: siteView };
}
