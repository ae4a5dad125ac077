import { mergeSiteConfig } from '@svc/contract/site-config.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { listMissing } from './file-store.ts';
import { type HeldRelease, holdRelease } from './hold-release.ts';
import { movedAnswer, unmovedAnswer } from './moved-answer.ts';
import { findReleaseRow, type ReleaseRow, updateReleaseRow } from './release-store.ts';
import {
  digestOf,
  type Pointer,
  pointerOfDeploy,
  pointerTo,
  releaseAt,
  releaseName,
  stateText,
} from './rules.ts';
import { type PointerChange, showRelease } from './show-release.ts';
import type { AppPlace } from './site-store.ts';
import type { SitePlaces } from './site-urls.ts';
import { stageHeldRelease } from './stage-held-release.ts';
import { warnOfDeploy } from './warn-of-deploy.ts';

const errorsMax = 100;

/** All is there: from now on it never changes. Where it is to be deployed, the pointer that the rules allow moves with it. */
export async function finalizeRelease(ctx: AppMutationCtx, { id }: { id: string }, places: SitePlaces) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { place, site, release } = held;
  const audited = {
    action: 'releases.finalize',
    appId: place.appId,
    target: { kind: 'release', id: release.id, name: releaseName(release) },
  };
  if (release.state === 'finalized') {
    ctx.audit({ ...audited, before: {}, after: {} });
    return unmovedAnswer(ctx, held, { pointer: pointerTo(site, release.id), places });
  }
  if (release.state === 'revoked') throw fail('release_revoked');
  if (release.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(release.state)}.` });
  await refuseMissing(ctx, held);

  const finalized = await updateReleaseRow(ctx.db, place, {
    id: release.id,
    set: {
      state: 'finalized',
      finalized_at: ctx.now,
      served_config: mergeSiteConfig(site.config, release.own_config),
    },
  });
  const { pointer, change, newer } = await deploy(ctx, { ...held, release: finalized });
  ctx.audit({
    ...audited,
    before: { state: 'draft', ...change.before },
    after: { state: 'finalized', digest: digestOf(finalized), ...change.after },
  });
  return {
    ...(await movedAnswer(ctx, held, { pointer, places })),
    ...(newer ? { newer_release_id: newer.id } : {}),
  };
}

async function refuseMissing(ctx: AppMutationCtx, { place, release }: HeldRelease): Promise<void> {
  const missing = await listMissing(ctx.db, place, release.id);
  if (missing.length === 0) return;
  throw fail('release_incomplete', {
    detail: `${missing.length} of the release's contents have not arrived.`,
    errors: missing.slice(0, errorsMax).map(({ sha256, size }) => ({
      field: sha256,
      code: 'missing',
      detail: `${size} bytes have not arrived`,
    })),
  });
}

interface Deployed {
  pointer: Pointer | null;
  change: PointerChange;
  newer?: ReleaseRow;
}
const unchanged: PointerChange = { before: {}, after: {} };

async function deploy(ctx: AppMutationCtx, held: HeldRelease): Promise<Deployed> {
  const { app, place, site, release } = held;
  if (release.on_finalize === 'nothing') return { pointer: null, change: unchanged };
  const pointer = pointerOfDeploy(app, site, release);
  const newer = await findNewerRow(ctx, { place, than: release, id: releaseAt(site, pointer) });
  if (newer) {
    ctx.warn(`A newer release is ${pointer} already, ${releaseName(newer)}: this one is only finalized.`);
    return { pointer: null, change: unchanged, newer };
  }
  switch (pointer) {
    case 'active':
      return { pointer, change: await showRelease(ctx, held) };
    case 'staged':
      await warnOfDeploy(ctx, app, { place, pointer, site });
      return { pointer, change: await stageHeldRelease(ctx, held) };
    case null:
      await warnOfDeploy(ctx, app, { place, pointer, site });
      return { pointer, change: unchanged };
  }
}

/** Of two deployments at once the one that was begun last wins, whichever is done first. */
async function findNewerRow(
  ctx: AppMutationCtx,
  { place, than, id }: { place: AppPlace; than: ReleaseRow; id: string | null },
): Promise<ReleaseRow | undefined> {
  const there = id === null ? undefined : await findReleaseRow(ctx.db, place, id);
  return there && there.number > than.number ? there : undefined;
}
