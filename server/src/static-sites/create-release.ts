import { mergeSiteConfig } from '@svc/contract/site-config.ts';
import type { createRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import { draftHoursMax, draftsMax } from '@svc/contract/static-sites.ts';
import type { z } from 'zod';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { listBlobSizes } from './blob-store.ts';
import { checkConfigSize } from './check-config-size.ts';
import { checkFiles, checkKnownSizes } from './check-files.ts';
import { type FileRow, insertFileRows, listMissing } from './file-store.ts';
import { type HeldSite, holdSite } from './hold-site.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { releaseRecord } from './records.ts';
import { countDraftRows, findDraftRow, insertReleaseRow, type ReleaseRow } from './release-store.ts';
import { digestOf, manifestSum, pointerOfDeploy, releaseName } from './rules.ts';
import { updateSiteRow } from './site-store.ts';
import { missingAnswer, type SiteParts, uploadGrant } from './upload-grant.ts';
import { warnOfDeploy } from './warn-of-deploy.ts';

type Input = z.output<typeof shape.body>;

/** A draft: what it will consist of, without a byte of it. The same one again goes on where it was. */
export async function createRelease(ctx: AppMutationCtx, input: Input, parts: SiteParts) {
  const bytes = checkFiles(input.files);
  checkConfigSize(input.config, 'config');
  const held = await holdSite(ctx, { wanted: 'owners' });
  const { place, site } = held;
  const manifest_sha256 = manifestSum(input.files, input.config);
  const before = await findDraftRow(ctx.db, place, { ...input, manifest_sha256 });
  const made = before ? undefined : await draft(ctx, held, { input, bytes, manifest_sha256 });
  const release = before ?? made?.release;
  if (!release) throw new Error('No draft was made.');
  const missing = made?.missing ?? (await listMissing(ctx.db, place, release.id));
  if (before) audit(ctx, before, null);
  return {
    ...releaseRecord(release, { site, open: await findOpenPromotionRow(ctx.db, place) }),
    ...missingAnswer(missing),
    ...uploadGrant(parts, ctx.now, {
      release: release.id,
      app: place.appId,
      tenant: place.tenantId,
      issuer: ctx.caller.userId,
    }),
    ...(before ? { changed: false as const } : {}),
  };
}

async function draft(
  ctx: AppMutationCtx,
  { app, place, site }: HeldSite,
  { input, bytes, manifest_sha256 }: { input: Input; bytes: number; manifest_sha256: string },
): Promise<{ release: ReleaseRow; missing: Pick<FileRow, 'sha256' | 'size'>[] }> {
  const { files, config, version, on_finalize } = input;
  if ((await countDraftRows(ctx.db, place)) >= draftsMax)
    throw fail('limit_reached', {
      detail: `The site has ${draftsMax} drafts; finalize some, or wait: each is given up after ${draftHoursMax} hours.`,
    });
  const sizes = new Map(files.map(({ sha256, size }) => [sha256, size]));
  // Under the lock of the site, which the sweep takes too: what is there now stays for this release.
  const known = await listBlobSizes(ctx.db, place, [...sizes.keys()]);
  checkKnownSizes(files, known);
  const release: ReleaseRow = {
    id: ctx.newId(),
    app_id: place.appId,
    tenant_id: place.tenantId,
    number: site.next_number,
    version,
    state: 'draft',
    manifest_sha256,
    files: files.length,
    bytes,
    own_config: config,
    served_config: mergeSiteConfig(site.config, config),
    on_finalize,
    reviewed_for: null,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    finalized_at: null,
    activated_at: null,
    revoked_by: null,
    revoked_at: null,
  };
  await updateSiteRow(ctx.db, place, { next_number: site.next_number + 1, updated_at: ctx.now });
  await insertReleaseRow(ctx.db, release);
  await insertFileRows(ctx.db, release.id, files);
  const missing = [...sizes]
    .filter(([sha256]) => !known.has(sha256))
    .map(([sha256, size]) => ({ sha256, size }));
  const leadsTo = on_finalize === 'deploy' ? pointerOfDeploy(app, site, release) : null;
  if (on_finalize === 'deploy') warnOfDeploy(ctx, app, leadsTo);
  const { missing_bytes } = missingAnswer(missing);
  audit(ctx, release, {
    ...{ number: release.number, version, files: files.length, bytes, config },
    // What else tells a plan of these files from one of others that are as many and as large?
    digest: digestOf(release),
    ...{ files_to_send: missing.length, bytes_to_send: missing_bytes },
    ...(on_finalize === 'deploy' ? { becomes: leadsTo ?? 'finalized' } : {}),
  });
  return { release, missing };
}

function audit(ctx: AppMutationCtx, release: ReleaseRow, after: Record<string, unknown> | null): void {
  ctx.audit({
    action: 'releases.create',
    appId: release.app_id,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
    before: after ? null : {},
    after: after ?? {},
  });
}
