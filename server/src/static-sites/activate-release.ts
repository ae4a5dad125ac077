import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { type HeldRelease, holdRelease } from './hold-release.ts';
import { movedAnswer, unmovedAnswer } from './moved-answer.ts';
import { mayShow, releaseName, requireFinalized } from './rules.ts';
import { isShown, showRelease } from './show-release.ts';
import type { SitePlaces } from './site-urls.ts';

/** Visitors see it from now on; of an app that is shown beyond its owners, only what was reviewed. */
export async function activateRelease(ctx: AppMutationCtx, { id }: { id: string }, places: SitePlaces) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  requireFinalized(held.release);
  return showIfAllowed(ctx, held, { action: 'releases.activate', places });
}

/** What `activate` and `rollback` do once it is clear that the release is one for it. */
export async function showIfAllowed(
  ctx: AppMutationCtx,
  held: HeldRelease,
  { action, places }: { action: string; places: SitePlaces },
) {
  const { app, place, site, release } = held;
  const audited = {
    action,
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (isShown(held)) {
    ctx.audit({ ...audited, before: {}, after: {} });
    return unmovedAnswer(ctx, held, { pointer: 'active', places });
  }
  if (!mayShow(app, site, release)) throw fail('promotion_required');
  ctx.audit({ ...audited, ...(await showRelease(ctx, held)) });
  return movedAnswer(ctx, held, { pointer: 'active', places });
}
