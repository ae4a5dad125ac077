import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdRelease } from './hold-release.ts';
import { movedAnswer, unmovedAnswer } from './moved-answer.ts';
import { releaseName, requireFinalized } from './rules.ts';
import type { SitePlaces } from './site-urls.ts';
import { stageHeldRelease } from './stage-held-release.ts';

export async function stageRelease(ctx: AppMutationCtx, { id }: { id: string }, places: SitePlaces) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { place, site, release } = held;
  requireFinalized(release);
  if (!site.staging_enabled) throw fail('staging_disabled');
  const audited = {
    action: 'releases.stage',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (site.staged_release_id === release.id) {
    ctx.audit({ ...audited, before: {}, after: {} });
    return unmovedAnswer(ctx, held, { pointer: 'staged', places });
  }
  ctx.audit({ ...audited, ...(await stageHeldRelease(ctx, held)) });
  return movedAnswer(ctx, held, { pointer: 'staged', places });
}
