import { mergeSiteConfig } from '@svc/contract/site-config.ts';
import type { AppMutationCtx, AppRef } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { fail } from '../../core/problem.ts';
import { listMissing } from './file-store.ts';
import { type LockedRelease, lockRelease } from './locks.ts';
import { activateLocked, stageLocked, warnBeforeDeploy } from './pointers.ts';
import { movedReleaseRecord, unchangedReleaseRecord } from './records.ts';
import { findReleaseRow, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import {
  deployPointer,
  type Pointer,
  pointedReleaseId,
  pointerTo,
  releaseDigest,
  releaseEntry,
  releaseName,
  type SiteUrls,
  stateText,
} from './rules.ts';

const errorsMax = 100;

export async function finalizeRelease(ctx: AppMutationCtx, { id }: { id: string }, urls: SiteUrls) {
  const locked = await lockRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
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

/** Of two concurrent deployments the one started last wins, whichever finishes first. */
async function findNewerRow(
  ctx: AppMutationCtx,
  { ref, than, id }: { ref: AppRef; than: ReleaseRow; id: string | null },
): Promise<ReleaseRow | undefined> {
  const current = id === null ? undefined : await findReleaseRow(ctx.db, ref, id);
  return current && current.number > than.number ? current : undefined;
}
