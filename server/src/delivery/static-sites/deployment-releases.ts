import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodes } from '@svc/contract/error-codes.ts';
import {
  type HostingFiles,
  hostingFileBytesMax,
  publishedHostingFiles,
  readHostingFiles,
  withHostingRules,
} from '@svc/contract/hosting-files.shapes.ts';
import { SiteConfig as ShapeOfConfig } from '@svc/contract/site-config.shapes.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { isLeftOutOfSite, releaseFilesMax } from '@svc/contract/site-paths.ts';
import { findActingOwner, findAppById } from '../../apps/record/find-app.ts';
import type { AppAccess, AppMutationCtx, AppRef, Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { BuildError } from '../../drivers/runtime/runtime.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { type FileRow, listMissing } from './file-store.ts';
import { createRelease, finalizeRelease } from './release-drafts.ts';
import { assignToDeployment, findDeploymentRelease, findReleaseRow } from './release-store.ts';
import { canActivate, manifestDigest, type Pointer, pointerTo, releaseDigest } from './rules.ts';
import { findSiteRow } from './site-store.ts';
import { type SiteDeps, saveBlob } from './uploads.ts';

export interface FolderReleaseDeps extends OperatorDeps, SiteDeps {
  objects: ObjectStore;
}

interface FolderReleaseInput extends AppRef {
  deploymentId: string;
  createdBy: string | null;
  dir: string;
  config: SiteConfig;
  signal?: AbortSignal | undefined;
}

export interface FolderRelease {
  releaseId: string;
  outcome: Pointer | 'finalized';
  digest: string;
}

/** A deployment has one release, which it resumes after a crash. */
export async function releaseFromFolder(deps: FolderReleaseDeps, input: FolderReleaseInput) {
  try {
    return await release(deps, input);
  } catch (error) {
    if (error instanceof Failure && errorCodes[error.code].status < 500)
      throw new BuildError('build', error.detail ?? error.message);
    throw error;
  }
}

async function release(deps: FolderReleaseDeps, input: FolderReleaseInput): Promise<FolderRelease> {
  const { tenantId, appId, deploymentId, dir, signal } = input;
  const ref = { tenantId, appId };
  const files = await walkFolder(dir, signal);
  if (files.length === 0) throw new BuildError('build', 'The build produced no files.');
  const existing = await findDeploymentRelease(deps.db, ref, deploymentId);
  const isSame =
    existing?.state !== 'draft' || existing.manifest_sha256 === manifestDigest(files, input.config);
  // A repeated build may produce other files; a release that is already finalized stays.
  const id = existing && isSame ? existing.id : await startRelease(deps, input, files);
  await uploadMissing(deps, { ref, id, files, signal });
  await runAsOwner(deps, input, 'releases.finalize', (ctx) => finalizeRelease(ctx, { id }, deps));
  const [row, site] = [await findReleaseRow(deps.db, ref, id), await findSiteRow(deps.db, ref)];
  if (!row || !site) throw fail('not_found');
  return { releaseId: id, outcome: pointerTo(site, id) ?? 'finalized', digest: releaseDigest(row) };
}

async function startRelease(
  deps: FolderReleaseDeps,
  input: FolderReleaseInput,
  files: readonly FolderFile[],
): Promise<string> {
  const { tenantId, appId, deploymentId, config } = input;
  const manifest = files.map(({ path, sha256, size }) => ({ path, sha256, size }));
  const body = { files: manifest, config, version: '', on_finalize: 'deploy' as const };
  return runAsOwner(deps, input, 'releases.create', async (ctx) => {
    const { id } = await createRelease(ctx, body as Parameters<typeof createRelease>[1], deps);
    const createdBy = input.createdBy ?? ctx.caller.userId;
    await assignToDeployment(ctx.db, { tenantId, appId }, { id, deploymentId, createdBy, now: ctx.now });
    return id;
  });
}

async function uploadMissing(
  deps: FolderReleaseDeps,
  {
    ref,
    id,
    files,
    signal,
  }: { ref: AppRef; id: string; files: readonly FolderFile[] } & Pick<FolderReleaseInput, 'signal'>,
): Promise<void> {
  const byDigest = new Map(files.map((file) => [file.sha256, file]));
  for (const { sha256, size } of await listMissing(deps.db, ref, id)) {
    signal?.throwIfAborted();
    const file = byDigest.get(sha256);
    if (!file)
      throw new BuildError(
        'build',
        'Files of the build were removed before they were uploaded. Deploy again.',
      );
    await saveBlob(
      { ...deps, now: () => new Date() },
      {
        ref,
        sha256,
        size,
        releaseId: id,
        log: deps.log,
        chunks: fileChunks(file.file),
        confirm: async () => {},
      },
    );
  }
}

/** The requester may have left and the pusher may be unknown: their right to deploy was checked on creation. */
export async function runAsOwner<T>(
  deps: FolderReleaseDeps,
  { tenantId, appId, createdBy }: AppRef & Pick<FolderReleaseInput, 'createdBy'>,
  name: string,
  useCase: (ctx: AppMutationCtx) => Promise<T>,
): Promise<T> {
  return runAsOperator(deps, { name, auditTenantId: tenantId }, async (ctx) => {
    const app = await findAppById(ctx, { id: appId });
    const tenant = await findTenant(ctx, { ref: tenantId });
    if (app?.tenantId !== tenantId || !tenant) throw fail('not_found');
    const userId = await findActingOwner(ctx.db, { tenantId, appId }, { requestedBy: createdBy });
    const caller: Caller = { ...ctx.caller, userId };
    return useCase({
      ...ctx,
      caller,
      tenant: { id: tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' },
      app: { ...app, relation: 'owner' },
    });
  });
}

export async function isActivatedAtOnce(
  db: Db,
  { visibility, deploymentId, releaseId, ...ref }: AppRef & DeploymentReleaseRef,
): Promise<boolean> {
  if (visibility === 'private') return true;
  const id = releaseId ?? (await findDeploymentRelease(db, ref, deploymentId))?.id;
  const release = id === undefined ? undefined : await findReleaseRow(db, ref, id);
  const site = await findSiteRow(db, ref);
  return site !== undefined && release !== undefined && canActivate({ visibility }, site, release);
}

interface DeploymentReleaseRef {
  visibility: AppAccess['visibility'];
  deploymentId: string;
  releaseId: string | null;
}

interface FolderFile extends FileRow {
  file: string;
}

const hostingFiles: readonly string[] = publishedHostingFiles;
const chunkBytes = 256 * 1024;
/** Does not follow a link, and does not block on a pipe. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function walkFolder(folder: string, signal?: AbortSignal): Promise<FolderFile[]> {
  const found: Pick<FolderFile, 'path' | 'file'>[] = [];
  const folders = [{ file: folder, path: '', depth: 0 }];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const name of await readdir(at.file)) {
      const [file, path] = [join(at.file, name), `${at.path}${name}`];
      if (isLeftOutOfSite(name, at.depth) || (at.depth === 0 && hostingFiles.includes(name))) continue;
      const entry = await lstat(file);
      if (entry.isDirectory()) folders.push({ file, path: `${path}/`, depth: at.depth + 1 });
      else if (entry.isFile()) found.push({ path: path.normalize('NFC'), file });
      else
        throw new BuildError(
          'build',
          `${JSON.stringify(path)} is not a regular file. A site can contain only regular files.`,
        );
      if (found.length > releaseFilesMax)
        throw new BuildError('build', `The site has more than ${releaseFilesMax} files.`);
    }
  }
  found.sort((one, other) => (one.path < other.path ? -1 : 1));
  const files: FolderFile[] = [];
  for (const { path, file } of found) {
    signal?.throwIfAborted();
    files.push({ path, file, ...(await hashFile(file)) });
  }
  return files;
}

async function hashFile(file: string): Promise<Pick<FileRow, 'sha256' | 'size'>> {
  const hash = new Bun.CryptoHasher('sha256');
  let size = 0;
  for await (const piece of fileChunks(file)) {
    hash.update(piece);
    size += piece.byteLength;
  }
  return { sha256: hash.digest('hex'), size };
}

/** The configuration of a built site with the rules for other static hosts that are in its files. */
export async function siteConfigOf(
  { dir, config, hosting }: { dir: string; config: SiteConfig | null; hosting: HostingFiles },
  onUnsupported: (text: string) => void,
): Promise<SiteConfig> {
  const published: HostingFiles = {};
  for (const name of publishedHostingFiles) {
    const entry = await lstat(join(dir, name)).catch(() => null);
    if (entry?.isFile() && entry.size <= hostingFileBytesMax)
      published[name] = await Bun.file(join(dir, name)).text();
  }
  const rules = readHostingFiles({ ...hosting, ...published }, Bun.TOML.parse);
  for (const text of rules.unsupported) onUnsupported(`Not applied: ${text}.`);
  // Together they can be too many, or lead back to where they began.
  const { data, error } = ShapeOfConfig.safeParse(withHostingRules(config ?? {}, rules));
  if (data) return data;
  const [issue] = error.issues;
  throw new BuildError('build', `The rules of the site: ${issue?.path.join('.')}: ${issue?.message}`);
}

async function* fileChunks(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file, openFlags);
  try {
    if (!(await handle.stat()).isFile()) throw new BuildError('build', 'A file of the site was replaced.');
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
