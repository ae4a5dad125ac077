import type { startSiteAuth as shape } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import { findAppById } from '../apps/find-app-by-id.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { type AppAtDomain, findSiteFor } from './find-site-for.ts';
import { codeSecondsMax, makeCode } from './make-code.ts';
import { parseSiteTarget, type VisitPlaces } from './site-target.ts';

/** For a program that opens a browser: an address that signs the caller in at a site, once, within a minute. */
export async function startSiteAuth(
  ctx: MutationCtx,
  parts: VisitPlaces & { appAtDomain: AppAtDomain },
  input: z.output<typeof shape.body>,
): Promise<z.output<typeof shape.answer>> {
  const target = parseSiteTarget(input.target, parts);
  if (target === null)
    throw invalid('target', 'must be the plain address of a page of a site, without user name and password');
  const appId =
    target === 'elsewhere'
      ? null
      : await findSiteFor({ ...parts, db: ctx.db }, { target, userId: ctx.caller.userId });
  const app = appId === null ? null : await findAppById(ctx, { id: appId });
  const isAsked = input.app === undefined || input.app === app?.slug || input.app.toLowerCase() === app?.id;
  if (target === 'elsewhere' || !app || !isAsked) throw fail('not_found');
  const { redirectUrl, expiresAt } = await makeCode(ctx, {
    appId: app.id,
    target,
    caller: ctx.caller,
    state: null,
  });
  ctx.audit({
    action: 'sites.startAuth',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: target.host },
    before: null,
    after: { origin: target.origin, user_id: ctx.caller.userId, good_for_seconds: codeSecondsMax },
  });
  return {
    redirect_url: redirectUrl,
    target: `${target.origin}${target.path}`,
    expires_at: expiresAt.toISOString(),
  };
}
