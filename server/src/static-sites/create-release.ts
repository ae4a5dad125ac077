import { mergeSiteConfig } from '@svc/contract/site-config.ts';
import type { createRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import { draftHoursMax, draftsMax } from '@svc/contract/static-sites.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { listBlobSizes } from './blob-store.ts';
import { checkConfigSize } from './check-config-size.ts';
import { checkFiles, checkKnownSizes } from './check-files.ts';
import { type FileRow, insertFileRows, listMissing } from './file-store.ts';
import { type HeldSite, holdSite } from './hold-site.ts';
import { findOpenPromotionRow } from './promotion-store.ts';
import { releaseRecord } from './records.ts';
import {
  countDraftRows,
  findDraftRow,
  findReleaseRow,
  insertReleaseRow,
  type ReleaseRow,
} from './release-store.ts';
import { digestOf, manifestSum, pointerOfDeploy, releaseAt, releaseName } from './rules.ts';
import { updateSiteRow } from './site-store.ts';
import { missingAnswer, type SiteParts, uploadGrant } from './upload-grant.ts';
import { warnOfDeploy } from './warn-of-deploy.ts';

type Input = z.output<typeof shape.body>;

/** An older draft could be given up while its files are being sent. */
const resumedHoursMax = draftHoursMax - 1;

/**
 * A draft: what it will consist of, without a byte of it. The same one again goes on where it was; what is deployed without
 * a change is what is there already.
 */
export async function createRelease(ctx: AppMutationCtx, input: Input, parts: SiteParts) {
  const bytes = checkFiles(input.files);
  checkConfigSize(input.config, 'config');
  const held = await holdSite(ctx, { wanted: 'owners' });
  const asked = { input, bytes, manifest_sha256: manifestSum(input.files, input.config) };
  const before = (await findDeployed(ctx, held, asked)) ?? (await findDraft(ctx, held, asked));
  return before ? goOn(ctx, held, before, parts) : begin(ctx, held, asked, parts);
}

interface Asked {
  input: Input;
  bytes: number;
  manifest_sha256: string;
}

/** Where the pointer that a deployment would move leads already, if that is the same to the letter. */
async function findDeployed(
  ctx: AppMutationCtx,
  { app, place, site }: HeldSite,
  { input, manifest_sha256 }: Asked,
): Promise<ReleaseRow | undefined> {
  if (input.on_finalize !== 'deploy') return undefined;
  const pointer = pointerOfDeploy(app, site, { id: '', reviewed_for: null });
  // To deploy shows an unpublished site again, which is a change.
  if (pointer === 'active' && !site.is_published) return undefined;
  const id = releaseAt(site, pointer);
  const there = id === null ? undefined : await findReleaseRow(ctx.db, place, id);
  const isSameRelease =
    there?.manifest_sha256 === manifest_sha256 &&
    there.version === input.version &&
    isSame(there.served_config, mergeSiteConfig(site.config, input.config));
  return isSameRelease ? there : undefined;
}

function findDraft(
  ctx: AppMutationCtx,
  { place }: HeldSite,
  { input, manifest_sha256 }: Asked,
): Promise<ReleaseRow | undefined> {
  const since = new Date(ctx.now.getTime() - resumedHoursMax * 3_600_000);
  return findDraftRow(ctx.db, place, { ...input, manifest_sha256, since });
}

async function goOn(ctx: AppMutationCtx, held: HeldSite, release: ReleaseRow, parts: SiteParts) {
  audit(ctx, release, null);
  const missing = await listMissing(ctx.db, held.place, release.id);
  return { ...(await answer(ctx, held, { release, missing, parts })), changed: false as const };
}

async function begin(ctx: AppMutationCtx, held: HeldSite, asked: Asked, parts: SiteParts) {
  return answer(ctx, held, { ...(await draft(ctx, held, asked)), parts });
}

async function answer(
  ctx: AppMutationCtx,
  { place, site }: HeldSite,
  { release, missing, parts }: Drafted & { parts: SiteParts },
) {
  return {
    ...releaseRecord(release, { site, open: await findOpenPromotionRow(ctx.db, place) }),
    ...missingAnswer(missing),
    ...uploadGrant(parts, ctx.now, {
      release: release.id,
      app: place.appId,
      tenant: place.tenantId,
      issuer: ctx.caller.userId,
    }),
  };
}

interface Drafted {
  release: ReleaseRow;
  missing: Pick<FileRow, 'sha256' | 'size'>[];
}

async function draft(
  ctx: AppMutationCtx,
  { app, place, site }: HeldSite,
  { input, bytes, manifest_sha256 }: Asked,
): Promise<Drafted> {
  const { files, config, version, on_finalize } = input;
  if ((await countDraftRows(ctx.db, place)) >= draftsMax)
    throw fail('limit_reached', {
      detail: `The site has ${draftsMax} drafts; finalize or revoke some, or wait: each is given up after ${draftHoursMax} hours.`,
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
  await insertFileRows(ctx.db, place, { releaseId: release.id, files });
  const missing = [...sizes]
    .filter(([sha256]) => !known.has(sha256))
    .map(([sha256, size]) => ({ sha256, size }));
  const leadsTo = on_finalize === 'deploy' ? pointerOfDeploy(app, site, release) : null;
  if (on_finalize === 'deploy') await warnOfDeploy(ctx, app, { place, pointer: leadsTo, site });
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
