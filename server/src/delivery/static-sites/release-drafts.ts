import { mergeSiteConfig } from '@svc/contract/site-config.ts';
import type { createRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import { draftHoursMax, draftsMax, releaseName } from '@svc/contract/static-sites.ts';
import type { z } from 'zod';
import type { AppMutationCtx, AppRef } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { fail } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { type FileRow, insertFileRows, listBlobSizes, listMissing } from './file-store.ts';
import {
  activateLocked,
  type LockedRelease,
  type LockedSite,
  lockRelease,
  lockSite,
  stageLocked,
  warnBeforeDeploy,
} from './pointers.ts';
import {
  countDraftRows,
  findDraftRow,
  findReleaseRow,
  insertReleaseRow,
  type ReleaseRow,
  updateReleaseRow,
} from './release-store.ts';
import { movedReleaseRecord, releaseRecord, unchangedReleaseRecord } from './releases.ts';
import {
  checkConfigSize,
  checkFiles,
  checkKnownSizes,
  deployPointer,
  manifestDigest,
  type Pointer,
  pointedReleaseId,
  pointerTo,
  releaseDigest,
  releaseEntry,
  type SiteUrls,
  stateText,
} from './rules.ts';
import { findOpenPromotionRow, updateSiteRow } from './site-store.ts';
import { missingFields, type SiteDeps, uploadGrant } from './uploads.ts';

type Input = z.output<typeof shape.body>;

/** An older draft could be abandoned while its files are being uploaded. */
const resumedHoursMax = draftHoursMax - 1;

export async function createRelease(ctx: AppMutationCtx, input: Input, deps: SiteDeps) {
  const bytes = checkFiles(input.files);
  checkConfigSize(input.config, 'config');
  const locked = await lockSite(ctx, { required: 'owners' });
  const request = { input, bytes, manifest_sha256: manifestDigest(input.files, input.config) };
  const existing = (await findDeployed(ctx, locked, request)) ?? (await findDraft(ctx, locked, request));
  return existing ? resumeDraft(ctx, locked, existing, deps) : startDraft(ctx, locked, request, deps);
}

interface ReleaseRequest {
  input: Input;
  bytes: number;
  manifest_sha256: string;
}

async function findDeployed(
  ctx: AppMutationCtx,
  { app, ref, site }: LockedSite,
  { input, manifest_sha256 }: ReleaseRequest,
): Promise<ReleaseRow | undefined> {
  if (input.on_finalize !== 'deploy') return undefined;
  const pointer = deployPointer(app, site, { id: '', reviewed_for: null });
  // Deploying publishes an unpublished site again, which is a change.
  if (pointer === 'active' && !site.is_published) return undefined;
  const id = pointedReleaseId(site, pointer);
  const current = id === null ? undefined : await findReleaseRow(ctx.db, ref, id);
  const isSameRelease =
    current?.manifest_sha256 === manifest_sha256 &&
    current.version === input.version &&
    isDeepEqual(current.served_config, mergeSiteConfig(site.config, input.config));
  return isSameRelease ? current : undefined;
}

function findDraft(ctx: AppMutationCtx, { ref }: LockedSite, { input, manifest_sha256 }: ReleaseRequest) {
  const since = new Date(ctx.now.getTime() - resumedHoursMax * 3_600_000);
  return findDraftRow(ctx.db, ref, { ...input, manifest_sha256, since });
}

async function resumeDraft(ctx: AppMutationCtx, locked: LockedSite, release: ReleaseRow, deps: SiteDeps) {
  auditCreate(ctx, release, null);
  const missing = await listMissing(ctx.db, locked.ref, release.id);
  return { ...(await draftRecord(ctx, locked, { release, missing, deps })), changed: false as const };
}

async function startDraft(ctx: AppMutationCtx, locked: LockedSite, request: ReleaseRequest, deps: SiteDeps) {
  return draftRecord(ctx, locked, { ...(await insertDraft(ctx, locked, request)), deps });
}

async function draftRecord(
  ctx: AppMutationCtx,
  { ref, site }: LockedSite,
  { release, missing, deps }: NewDraft & { deps: SiteDeps },
) {
  return {
    ...releaseRecord(release, { site, open: await findOpenPromotionRow(ctx.db, ref) }),
    ...missingFields(missing),
    ...uploadGrant(deps, ctx, release),
  };
}

interface NewDraft {
  release: ReleaseRow;
  missing: Pick<FileRow, 'sha256' | 'size'>[];
}

async function insertDraft(
  ctx: AppMutationCtx,
  { app, ref, site }: LockedSite,
  { input, bytes, manifest_sha256 }: ReleaseRequest,
): Promise<NewDraft> {
  const { files, config, version, on_finalize } = input;
  if ((await countDraftRows(ctx.db, ref)) >= draftsMax)
    throw fail('limit_reached', {
      detail: `The site has ${draftsMax} drafts. Finalize or revoke some, or wait: drafts are abandoned after ${draftHoursMax} hours.`,
    });
  const sizes = new Map(files.map(({ sha256, size }) => [sha256, size]));
  // The cleanup takes the same lock on the site, so blobs found here stay for this release.
  const known = await listBlobSizes(ctx.db, ref, [...sizes.keys()]);
  checkKnownSizes(files, known);
  const release: ReleaseRow = {
    id: ctx.newId(),
    app_id: ref.appId,
    tenant_id: ref.tenantId,
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
  await updateSiteRow(ctx.db, ref, { next_number: site.next_number + 1, updated_at: ctx.now });
  await insertReleaseRow(ctx.db, release);
  await insertFileRows(ctx.db, ref, { releaseId: release.id, files });
  const missing = [...sizes]
    .filter(([sha256]) => !known.has(sha256))
    .map(([sha256, size]) => ({ sha256, size }));
  const pointer = on_finalize === 'deploy' ? deployPointer(app, site, release) : null;
  if (on_finalize === 'deploy') await warnBeforeDeploy(ctx, app, { ref, pointer: pointer, site });
  const { missing_bytes } = missingFields(missing);
  auditCreate(ctx, release, {
    number: release.number,
    version,
    files: files.length,
    bytes,
    config,
    digest: releaseDigest(release),
    files_to_send: missing.length,
    bytes_to_send: missing_bytes,
    ...(on_finalize === 'deploy' ? { becomes: pointer ?? 'finalized' } : {}),
  });
  return { release, missing };
}

function auditCreate(ctx: AppMutationCtx, release: ReleaseRow, after: Record<string, unknown> | null): void {
  ctx.audit({ ...releaseEntry('releases.create', release), before: after ? null : {}, after: after ?? {} });
}

const errorsMax = 100;

export async function finalizeRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { site, release } = locked;
  const entry = releaseEntry('releases.finalize', release);
  if (release.state === 'finalized') {
    ctx.audit({ ...entry, before: {}, after: {} });
    return unchangedReleaseRecord(ctx, locked, { pointer: pointerTo(site, release.id), urls });
  }
  if (release.state === 'revoked') throw fail('release_revoked');
  if (release.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(release.state)}.` });
  await checkComplete(ctx, locked);

  const finalized = await updateReleaseRow(ctx.db, release, {
    state: 'finalized',
    finalized_at: ctx.now,
    served_config: mergeSiteConfig(site.config, release.own_config),
  });
  const { pointer, change, newer } = await deployFinalized(ctx, { ...locked, release: finalized });
  ctx.audit({
    ...entry,
    before: { state: 'draft', ...change.before },
    after: { state: 'finalized', digest: releaseDigest(finalized), ...change.after },
  });
  return {
    ...(await movedReleaseRecord(ctx, locked, { pointer, urls })),
    ...(newer ? { newer_release_id: newer.id } : {}),
  };
}

async function checkComplete(ctx: AppMutationCtx, { ref, release }: LockedRelease): Promise<void> {
  const missing = await listMissing(ctx.db, ref, release.id);
  if (missing.length === 0) return;
  throw fail('release_incomplete', {
    detail: `${missing.length} files of the release are not uploaded.`,
    errors: missing.slice(0, errorsMax).map(({ sha256, size }) => ({
      field: sha256,
      code: 'missing',
      detail: `${size} bytes are not uploaded`,
    })),
  });
}

interface DeployResult {
  pointer: Pointer | null;
  change: PlanPart;
  newer?: ReleaseRow;
}
const noChange: PlanPart = { before: {}, after: {} };

async function deployFinalized(ctx: AppMutationCtx, locked: LockedRelease): Promise<DeployResult> {
  const { app, ref, site, release } = locked;
  if (release.on_finalize === 'nothing') return { pointer: null, change: noChange };
  const pointer = deployPointer(app, site, release);
  const newer = await findNewerRow(ctx, { ref, than: release, id: pointedReleaseId(site, pointer) });
  if (newer) {
    ctx.warn(
      `The newer release ${releaseName(newer)} is already ${pointer}: this one is finalized, but not deployed.`,
    );
    return { pointer: null, change: noChange, newer };
  }
  switch (pointer) {
    case 'active':
      return { pointer, change: await activateLocked(ctx, locked) };
    case 'staged':
      await warnBeforeDeploy(ctx, app, { ref, pointer, site });
      return { pointer, change: await stageLocked(ctx, locked) };
    case null:
      await warnBeforeDeploy(ctx, app, { ref, pointer, site });
      return { pointer, change: noChange };
  }
}

/** The last started of two concurrent deployments wins, whichever finishes first. */
async function findNewerRow(
  ctx: AppMutationCtx,
  { ref, than, id }: { ref: AppRef; than: ReleaseRow; id: string | null },
): Promise<ReleaseRow | undefined> {
  const current = id === null ? undefined : await findReleaseRow(ctx.db, ref, id);
  return current && current.number > than.number ? current : undefined;
}
