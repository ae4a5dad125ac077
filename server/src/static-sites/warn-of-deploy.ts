import type { HeldApp } from '../apps/hold-app.ts';
import { processInPlace } from '../deployments/what-is-live.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Pointer } from './rules.ts';
import type { AppPlace, SiteRow } from './site-store.ts';

interface ReleaseShown {
  place: AppPlace;
  pointer: Pointer | null;
  site: Pick<SiteRow, 'active_release_id' | 'is_published'>;
}

/** What whoever looks at a plan should know of a release that is about to be shown. */
export async function warnOfDeploy(
  ctx: Pick<MutationCtx, 'db' | 'warn'>,
  app: Pick<HeldApp, 'deploy_method' | 'subdomain' | 'runtime' | 'visibility'>,
  { place, pointer, site }: ReleaseShown,
): Promise<void> {
  if (pointer === 'active' && site.active_release_id !== null && !site.is_published)
    ctx.warn('The site is unpublished; this shows it again.');
  if (pointer === null)
    ctx.warn(
      `The app is ${app.visibility}: the release is shown once it is staged and promoted, and staging is not enabled.`,
    );
  if (pointer === 'staged')
    ctx.warn(
      `The app is ${app.visibility}: the release is staged, and shown once its promotion is approved.`,
    );
  if (pointer === 'active' && app.runtime === 'suspended')
    ctx.warn('The app is suspended: visitors see nothing of it until it is resumed.');
  if (pointer !== null && app.subdomain === null)
    ctx.warn('The app has no subdomain: nothing of it is seen there until it has one.');
  const live = await processInPlace(ctx.db, place);
  if (live)
    ctx.warn(
      `The app is deployed by ${live.method}, and that answers in place of the site: at its address this release is not seen.`,
    );
  else if (app.deploy_method !== 'static')
    ctx.warn(
      `The app is one to deploy by ${app.deploy_method}: once it is deployed so, that answers in place of the site.`,
    );
}
