import { errorCodes } from '@svc/contract/error-codes.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { findAppById } from '../apps/find-app-by-id.ts';
import { ownerInCharge } from '../apps/owner-in-charge.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { BuildFailure } from '../drivers/runtime/runtime.ts';
import type { AppMutationCtx, Caller } from '../plumbing/context.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { createRelease } from './create-release.ts';
import { findReleaseOfDeployment, giveToDeployment } from './deployment-release-store.ts';
import { listMissing } from './file-store.ts';
import { finalizeRelease } from './finalize-release.ts';
import { keepBlob } from './keep-blob.ts';
import { findReleaseRow } from './release-store.ts';
import { digestOf, manifestSum, pointerTo } from './rules.ts';
import { type AppPlace, findSiteRow } from './site-store.ts';
import type { SiteParts } from './upload-grant.ts';
import { type FolderFile, filePieces, walkFolder } from './walk-folder.ts';

export interface FolderReleaseParts extends OperatorParts, SiteParts {
  objects: ObjectStore;
}

export interface FolderRelease extends AppPlace {
  deploymentId: string;
  /** Who asked for the deployment; null where nobody did. */
  createdBy: string | null;
  dir: string;
  config: SiteConfig;
  signal?: AbortSignal | undefined;
}

export interface ReleasedFolder {
  releaseId: string;
  /** As far as the rules let it: beyond the owners only what was reviewed is shown. */
  outcome: 'active' | 'staged' | 'finalized';
  digest: string;
  leftOut: string[];
}

/**
 * A release of what a build has made, by the very steps that owners take: listed, its files kept, finalized, and shown as
 * far as they could show it themselves. A deployment makes one: after a crash it goes on with the one it has begun.
 */
export async function releaseFromFolder(
  parts: FolderReleaseParts,
  released: FolderRelease,
): Promise<ReleasedFolder> {
  try {
    return await release(parts, released);
  } catch (error) {
    // A refusal is no fault of the platform, whatever it is.
    if (error instanceof Failure && errorCodes[error.code].status < 500)
      throw new BuildFailure('build', error.detail ?? error.message);
    throw error;
  }
}

async function release(parts: FolderReleaseParts, released: FolderRelease): Promise<ReleasedFolder> {
  const { tenantId, appId, deploymentId, dir, signal } = released;
  const place = { tenantId, appId };
  const { files, leftOut } = await walkFolder(dir, signal);
  if (files.length === 0) throw new BuildFailure('build', 'The build has left no file of a site.');
  const before = await findReleaseOfDeployment(parts.db, place, deploymentId);
  const isSame = before?.state !== 'draft' || before.manifest_sha256 === manifestSum(files, released.config);
  // A build that begins again may make other files; once they are whole, the first ones count.
  const id = before && isSame ? before.id : await begin(parts, released, files);
  await keepMissing(parts, { place, id, files, signal });
  await asOwner(parts, released, 'releases.finalize', (ctx) => finalizeRelease(ctx, { id }, parts));
  return { ...(await outcomeOf(parts, place, id)), leftOut };
}

async function begin(
  parts: FolderReleaseParts,
  released: FolderRelease,
  files: readonly FolderFile[],
): Promise<string> {
  const { tenantId, appId, deploymentId, config } = released;
  const listed = files.map(({ path, sha256, size }) => ({ path, sha256, size }));
  const wish = { files: listed, config, version: '', on_finalize: 'deploy' as const };
  return asOwner(parts, released, 'releases.create', async (ctx) => {
    const { id } = await createRelease(ctx, wish as Parameters<typeof createRelease>[1], parts);
    const createdBy = released.createdBy ?? ctx.caller.userId;
    await giveToDeployment(ctx.db, { tenantId, appId }, { id, deploymentId, createdBy, now: ctx.now });
    return id;
  });
}

async function keepMissing(
  parts: FolderReleaseParts,
  {
    place,
    id,
    files,
    signal,
  }: { place: AppPlace; id: string; files: readonly FolderFile[] } & Pick<FolderRelease, 'signal'>,
): Promise<void> {
  const bySum = new Map(files.map((file) => [file.sha256, file]));
  for (const { sha256, size } of await listMissing(parts.db, place, id)) {
    signal?.throwIfAborted();
    const file = bySum.get(sha256);
    if (!file)
      throw new BuildFailure('build', 'Files of the site are gone that were there before; deploy again.');
    await keepBlob(
      { ...parts, now: () => new Date() },
      {
        place,
        sha256,
        size,
        releaseId: id,
        log: parts.log,
        pieces: filePieces(file.place),
        confirm: async () => {},
      },
    );
  }
}

async function outcomeOf(
  { db }: FolderReleaseParts,
  place: AppPlace,
  id: string,
): Promise<Omit<ReleasedFolder, 'leftOut'>> {
  const [row, site] = [await findReleaseRow(db, place, id), await findSiteRow(db, place)];
  if (!row || !site) throw fail('not_found');
  return { releaseId: id, outcome: pointerTo(site, id) ?? 'finalized', digest: digestOf(row) };
}

/**
 * By the platform, with the rights of an owner and none beyond them: whoever asked for the deployment may have left since,
 * and who pushed may not be known. That they may deploy was found when it was asked for. The audit names the platform.
 */
export async function asOwner<T>(
  parts: FolderReleaseParts,
  { tenantId, appId, createdBy }: AppPlace & Pick<FolderRelease, 'createdBy'>,
  name: string,
  verb: (ctx: AppMutationCtx) => Promise<T>,
): Promise<T> {
  return asOperator(parts, { name, auditTenantId: tenantId }, async (ctx) => {
    const app = await findAppById(ctx, { id: appId });
    const tenant = await findTenant(ctx, { ref: tenantId });
    if (app?.tenantId !== tenantId || !tenant) throw fail('not_found');
    const userId = await ownerInCharge(ctx.db, { tenantId, appId }, { askedBy: createdBy });
    const caller: Caller = { ...ctx.caller, userId };
    return verb({
      ...ctx,
      caller,
      tenant: { id: tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' },
      app: { ...app, relation: 'owner' },
    });
  });
}
