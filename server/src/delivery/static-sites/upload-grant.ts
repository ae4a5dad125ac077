import { uploadGrantSeconds, uploadsPrefix } from '@svc/contract/static-sites.ts';
import type { AppMutationCtx } from '../../core/context.ts';
import type { LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import { urlExpiry } from '../../data/storage/signed-urls.ts';
import { signUrlToken, type UrlClaims } from '../../http/signed-url.ts';
import { type FileRow, listMissing } from './file-store.ts';
import { lockRelease } from './locks.ts';
import { releaseRecord } from './records.ts';
import type { ReleaseRow } from './release-store.ts';
import { releaseEntry, type SiteUrls, stateText } from './rules.ts';

export interface UploadClaims extends UrlClaims {
  purpose: 'release.put';
  release: string;
  /** App and tenant by id: slugs can be reassigned. */
  app: string;
  tenant: string;
  issuer: string;
}

export interface SiteDeps extends SiteUrls {
  urlKey: LiveKey<string>;
}

export function uploadGrant({ baseUrl, urlKey }: SiteDeps, ctx: AppMutationCtx, release: ReleaseRow) {
  const { expires, expires_at } = urlExpiry(ctx.now, uploadGrantSeconds);
  const token = signUrlToken<UploadClaims>(urlKey, {
    purpose: 'release.put',
    expires,
    release: release.id,
    app: release.app_id,
    tenant: release.tenant_id,
    issuer: ctx.caller.userId,
  });
  return { upload_url: `${baseUrl}${uploadsPrefix}${token}/`, upload_expires_at: expires_at };
}

export function missingFields(missing: readonly Pick<FileRow, 'sha256' | 'size'>[]) {
  return {
    missing: missing.map(({ sha256 }) => sha256),
    missing_bytes: missing.reduce((sum, { size }) => sum + size, 0),
  };
}

export async function grantUpload(ctx: AppMutationCtx, { id }: { id: string }, deps: SiteDeps) {
  const locked = await lockRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { ref, site, release, open } = locked;
  if (release.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(release.state)}.` });
  ctx.audit({
    ...releaseEntry('releases.grantUpload', release),
    before: null,
    after: { expires_in_seconds: uploadGrantSeconds },
  });
  return {
    ...releaseRecord(release, { site, open }),
    ...missingFields(await listMissing(ctx.db, ref, release.id)),
    ...uploadGrant(deps, ctx, release),
  };
}
