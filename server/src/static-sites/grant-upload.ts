import { uploadGrantSeconds } from '@svc/contract/static-sites.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { listMissing } from './file-store.ts';
import { holdRelease } from './hold-release.ts';
import { releaseRecord } from './records.ts';
import { releaseName, stateText } from './rules.ts';
import { missingAnswer, type SiteParts, uploadGrant } from './upload-grant.ts';

/** A new address where the one before has expired. Nothing is stored by it. */
export async function grantUpload(ctx: AppMutationCtx, { id }: { id: string }, parts: SiteParts) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { place, site, release, open } = held;
  if (release.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(release.state)}.` });
  ctx.audit({
    action: 'releases.grantUpload',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
    before: null,
    after: { expires_in_seconds: uploadGrantSeconds },
  });
  return {
    ...releaseRecord(release, { site, open }),
    ...missingAnswer(await listMissing(ctx.db, place, release.id)),
    ...uploadGrant(parts, ctx.now, {
      release: release.id,
      app: place.appId,
      tenant: place.tenantId,
      issuer: ctx.caller.userId,
    }),
  };
}
