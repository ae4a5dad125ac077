import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceBytesMax } from '@svc/contract/deployments.ts';
import { previewSleepMinutes, seedBytesMax, seedRowsMax } from '@svc/contract/previews.ts';
import { addDataScopes } from '../../apps/record/apps.ts';
import { findActingOwner, findAppById } from '../../apps/record/find-app.ts';
import { findDataScopes } from '../../apps/record/status-store.ts';
import type { Db } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import { seedTables } from '../../data/rows/seed-tables.ts';
import { enableStorageForApp, isStorageEnabled } from '../../data/storage/storage.ts';
import type { GitClient } from '../../drivers/git/git-client.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { BuildError, type Built } from '../../drivers/runtime/runtime.ts';
import {
  deleteCommandTokens,
  issueCommandToken,
  issueInstanceTokens,
} from '../../identity/app-identity/app-tokens.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { SourcePlan } from '../detect/plan-source.ts';
import { loadEnv } from '../env/env.ts';
import { frameworkEnv, platformEnv } from '../env/platform-env.ts';
import { findConnection } from '../git-connections/connections.ts';
import { openRemote } from '../git-connections/repositories.ts';
import type { GitDeps } from '../git-connections/rules.ts';
import { SourceError, type UnpackDeps, unpackUpload } from '../sources/unpack-source.ts';
import { siteConfigOf } from '../static-sites/deployment-releases.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { applyDeclaredTables } from './apply-tables.ts';
import {
  advance,
  type ClaimedWork,
  createWorkFolder,
  DeploymentFailure,
  LeaseLost,
  loadClaimedRow,
  withLease,
} from './claimed-work.ts';
import { loadDeployedApp, openEnv, sealEnv } from './deployment-record.ts';
import { linkOwnPackages } from './own-packages.ts';
import { openReviewDatabase } from './reviews.ts';
import {
  type DeploymentEnvironment,
  type DeploymentSource,
  type FetchedSource,
  isInReview,
  needsReview,
} from './rules.ts';
import { copySourceFiles, recordSource } from './source-files.ts';
import { type DeploymentRow, findLiveDeploymentRow, toAppRef } from './store.ts';
import { updateClaimedRow } from './work-store.ts';

export async function buildDeployment(work: ClaimedWork, before: DeploymentRow) {
  const { deps, log, signal } = work;
  if (before.source === 'artifact') {
    await copySourceFiles(deps.db, { id: before.id, of: before.rollback_of });
    const row = await advance(work, 'building', { state: 'built', step: null, built_at: new Date() });
    return { row, site: null };
  }
  const { state } = before;
  const into = join(await createWorkFolder(deps.workDir, work.claimed), 'source');
  let row = await advance(work, state, { step: 'fetch' });
  const fetched = await deps.source.fetch({ row, into, log: log.sink, signal });
  row = await advance(work, state, { ...fetched, step: 'detect' });
  await recordSource(deps.db, { deploymentId: row.id, dir: into, signal });
  const app = await loadDeployedApp(deps.db, work.claimed);
  const source = await deps.source.plan(into, { method: app.method });
  const { plan, method, health, env, site: config, hosting } = source;
  for (const line of source.notes) log.sink('platform', line);
  if (method !== row.method) {
    row = await advance(work, state, { method });
    log.sink('platform', 'The project builds to files and has no server: its files are served.');
  }
  if (method === 'docker' && plan.dockerfile === null && !plan.startCommand?.trim())
    throw new BuildError('detect', noStartCommand);
  const refused = await deps.runtime.refuses({ method, plan });
  if (refused !== null) throw new DeploymentFailure('runtime_unsupported', 'detect', refused);
  const hasCommands = source.release !== null || source.schedules.some(({ command }) => command !== null);
  const noCommands = hasCommands ? (deps.runtime.refusesCommands?.(method) ?? null) : null;
  if (noCommands !== null)
    throw new DeploymentFailure(
      'runtime_unsupported',
      'detect',
      `The release command or a schedule: ${noCommands}`,
    );
  if (source.wantsStorage) await enableStorage(work);
  const { isPreview, isReviewed } = await findBuildRules(deps.db, row, method);
  if (!isPreview && source.dataScopes.length > 0) await requestDataScopes(work, source.dataScopes);
  if (isPreview) await applyDeclaredTables(work, row, source.tables);
  if (isPreview && source.seed !== null) await seedPreview(work, into, source.seed);
  row = await advance(work, state, { step: 'build' });
  const commands = [plan.installCommand, plan.buildCommand, plan.startCommand].filter((it) => it !== null);
  const required = commands.length > 0 ? source.tools : [];
  const tools = (await deps.toolchains?.prepare(required, { log: log.sink, signal })) ?? [];
  const own = await deps.environment.own(row);
  const platformEnv = await deps.environment.platform(row, 'build');
  const services = await linkOwnPackages(into, {
    baseUrl: platformEnv.SVC_BASE_URL,
    runtime: deps.runtime,
    log: log.sink,
  });
  const { framework, firstByteMs, release, tables } = source;
  const { processes, sleepMs, schedules } = isPreview ? previewScale(source) : source;
  const built = await deps.runtime.build({
    ...toAppRef(row),
    deploymentId: row.id,
    number: app.number,
    buildId: work.claimed.lease,
    method,
    plan,
    tools,
    services,
    sourceDir: into,
    isReviewed,
    liveDeploymentId: (await findLiveDeploymentRow(deps.db, toAppRef(row)))?.id ?? null,
    limits: app.limits,
    log: log.sink,
    signal,
    env: { ...frameworkEnv(framework, platformEnv).build, ...env, ...platformEnv, ...own },
  });
  if (work.canceled.aborted) await deps.runtime.discard(built.artifact);
  signal.throwIfAborted();
  await storeBuild(work, built);
  const dir = built.filesDir;
  const site = dir && {
    dir,
    config: await siteConfigOf({ dir, config, hosting }, (text) => log.sink('platform', text)),
  };
  const startWith = { health, env, framework, firstByteMs, processes, sleepMs, release, schedules, tables };
  return { row: await saveBuilt(work, row, built, startWith), site };
}

const noStartCommand =
  'No start command was found. Add one: a script “start” in package.json, a Procfile, or start in svc.yaml, such as “start: node server.js”.';

async function findBuildRules(db: Db, row: DeploymentRow, method: DeploymentRow['method']) {
  const app = await findAppById({ db }, { id: row.app_id });
  const tenant = await findTenant({ db }, { ref: row.tenant_id });
  const visibility = app?.visibility ?? 'private';
  const built = { method, reviewed_visibility: null };
  return {
    isPreview: app?.previewOf != null,
    isReviewed:
      method === 'static'
        ? visibility !== 'private'
        : needsReview(built, visibility, tenant?.review_deployments ?? 'all'),
  };
}

async function storeBuild({ deps, claimed, signal }: ClaimedWork, { artifact }: Built): Promise<void> {
  try {
    await deps.builds?.save(claimed.appId, artifact, signal);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    await deps.runtime.discard(artifact);
    const reason = error.detail ?? error.message;
    throw new DeploymentFailure('internal', 'build', `The build could not be stored. ${reason}`);
  }
}

function saveBuilt(
  work: ClaimedWork,
  { state }: DeploymentRow,
  { artifact, digest }: Built,
  startWith: NonNullable<DeploymentRow['start_with']>,
): Promise<DeploymentRow> {
  return advance(work, state, {
    ...(state === 'building' ? { state: 'built' as const, step: null } : { step: 'switch' as const }),
    runtime: work.deps.runtime.kind,
    digest,
    is_kept: true,
    artifact,
    start_with: startWith,
    built_at: new Date(),
  });
}

export type FetchDeps = UnpackDeps & { git: GitDeps; gitClient: GitClient };
type Job = Parameters<DeploymentSource['fetch']>[0];

/** A branch is fetched as it is now, so that a late webhook does not deploy an old commit. */
export async function fetchSource(deps: FetchDeps, job: Job): Promise<FetchedSource> {
  try {
    return await (job.row.source === 'upload' ? unpack(deps, job) : checkOut(deps, job));
  } catch (error) {
    if (error instanceof SourceError) throw sourceError(error.message);
    if (error instanceof Failure) throw sourceError(error.detail ?? error.message);
    throw error;
  }
}

async function unpack(deps: FetchDeps, { row, into, log, signal }: Job): Promise<FetchedSource> {
  if (row.upload_id === null) throw sourceError('No source was uploaded.');
  log('platform', 'Unpacking the source …');
  await unpackUpload(deps, { ...toAppRef(row), uploadId: row.upload_id, into, signal });
  return {};
}

async function checkOut(deps: FetchDeps, { row, into, log, signal }: Job): Promise<FetchedSource> {
  const previewOf = (await findAppById(deps, { id: row.app_id }))?.previewOf;
  const connection = await findConnection(deps.db, { ...toAppRef(row), appId: previewOf ?? row.app_id });
  if (!connection) throw sourceError('The repository was disconnected.');
  const ref = row.ref ?? connection.branch;
  const repo = `${connection.repo.owner}/${connection.repo.name}`;
  log('platform', `Fetching ${ref} of ${repo} …`);
  const from = await openRemote(deps.git, connection);
  const { sha, message } = await deps.gitClient.checkOut({
    from,
    ref,
    into,
    signal,
    bytesMax: sourceBytesMax,
  });
  const title = message.split('\n', 1)[0]?.slice(0, titleCharsMax) ?? '';
  log('platform', `Commit ${sha.slice(0, 12)}: ${title}`);
  return { repo, ref, commit_sha: sha, commit_message: title };
}

const titleCharsMax = 200;

function sourceError(detail: string): DeploymentFailure {
  return new DeploymentFailure('source_unavailable', 'fetch', detail);
}

export function deploymentEnvironment(
  db: Db,
  urls: SiteUrls & { rawDatabases: RawDatabases },
): DeploymentEnvironment {
  return {
    snapshot: async (row) => sealEnv(db, { deploymentId: row.id, env: await loadEnv(db, toAppRef(row)) }),
    own: async (row) => (row.env_sealed ? openEnv(db, { deploymentId: row.id, sealed: row.env_sealed }) : {}),
    platform: async (row, purpose) => {
      const target = { ...toAppRef(row), deploymentId: row.id, commit: row.commit_sha };
      const { DATABASE_URL, ...env } = (await platformEnv(db, urls, target))[purpose];
      return DATABASE_URL === undefined || isInReview(row) ? env : { DATABASE_URL, ...env };
    },
    async identity(row, instanceId) {
      const isReadOnly = isInReview(row);
      const options = { instanceId, isReadOnly, baseUrl: urls.baseUrl, now: new Date() };
      const tokens = await issueInstanceTokens(db, { ...toAppRef(row), ...options });
      if (!isReadOnly) return tokens;
      return { ...tokens, ...(await openReviewDatabase(db, urls, row)), SVC_ENVIRONMENT: 'review' };
    },
    commandIdentity: (row, command) =>
      issueCommandToken(db, { ...toAppRef(row), ...command, now: new Date() }),
    endCommandIdentity: (appId, commandId) => deleteCommandTokens(db, appId, commandId),
  };
}

/** The app's variables of the first attempt: a deployment that is resumed uses the same. */
export async function storedEnvironment(work: Pick<ClaimedWork, 'deps' | 'claimed'>) {
  const { deps, claimed } = work;
  const row = await loadClaimedRow(work);
  if (row.env_sealed) return deps.environment.own(row);
  const set = { env_sealed: await deps.environment.snapshot(row) };
  if (!(await updateClaimedRow(deps.db, claimed, { from: row.state, set }))) throw new LeaseLost();
  return deps.environment.own({ ...row, ...set });
}

/** Values to hide in logs; the log itself skips those that are too short. */
export function secretValues(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env)
    .filter(([name]) => !plainNames.test(name))
    .map(([, value]) => value);
}

const plainNames = /^(?:SVC_(?!APP_TOKEN).*|NODE_ENV)$/;

/** One instance of each process, which sleeps: many branches share the machine with the apps themselves. */
function previewScale({
  processes,
  sleepMs,
  method,
}: SourcePlan): Pick<SourcePlan, 'processes' | 'sleepMs' | 'schedules'> {
  return {
    processes: Object.fromEntries(
      Object.entries(processes).map(([name, { command, instances }]) => [
        name,
        { command, instances: instances === null ? null : Math.min(instances, 1) },
      ]),
    ),
    sleepMs: method === 'static' ? null : (sleepMs ?? previewSleepMinutes * 60_000),
    schedules: [],
  };
}

async function seedPreview(
  work: Pick<ClaimedWork, 'deps' | 'claimed' | 'log'>,
  folder: string,
  path: string,
): Promise<void> {
  const text = await readSeed(folder, path);
  if (text === null)
    throw new BuildError('detect', `svc.yaml: previews.seed: ${path} is no file of at most ${seedMib} MiB.`);
  try {
    const rows = await withLease(work, 'previews.seed', async (ctx, { row }) => {
      const app = await findAppById(ctx, { id: row.app_id });
      const seed = { path, text, rowsMax: seedRowsMax };
      return app ? seedTables(ctx, toAppRef(row), { file: seed, userId: app.ownerId }) : 0;
    });
    if (rows > 0) work.log.sink('platform', `${path}: ${rows} rows inserted.`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new BuildError('detect', `svc.yaml: previews.seed: ${path}: ${error.detail ?? error.message}.`);
  }
}

const seedMib = seedBytesMax / 1024 ** 2;

/** A symbolic link could lead out of the source. */
async function readSeed(folder: string, path: string): Promise<string | null> {
  const root = await realpath(folder);
  const file = await realpath(join(root, path)).catch(() => null);
  const found = file?.startsWith(`${root}/`) ? await stat(file) : null;
  if (!file || !found?.isFile() || found.size > seedBytesMax) return null;
  return Bun.file(file).text();
}

async function enableStorage(work: Pick<ClaimedWork, 'deps' | 'claimed' | 'log'>): Promise<void> {
  const { deps, claimed, log } = work;
  if (await isStorageEnabled(deps.db, claimed)) return;
  await withLease(work, 'storage.enable', async (ctx, { slug, row }) => {
    const tenant = await findTenant(ctx, { ref: claimed.tenantId });
    if (!tenant) throw new LeaseLost();
    const userId = await findActingOwner(ctx.db, claimed, { requestedBy: row.created_by });
    await enableStorageForApp(
      {
        ...ctx,
        caller: { ...ctx.caller, userId },
        tenant: { id: claimed.tenantId, slug: tenant.slug, name: tenant.name, role: 'tenant_member' },
      },
      { id: claimed.appId, slug },
    );
  });
  log.sink('platform', 'Storage enabled, as svc.yaml requires.');
}

async function requestDataScopes(
  work: Pick<ClaimedWork, 'deps' | 'claimed' | 'log'>,
  scopes: readonly string[],
): Promise<void> {
  const { tenantId, appId } = work.claimed;
  const { requested } = await findDataScopes(work.deps.db, { tenantId, appId });
  const added = scopes.filter((scope) => !requested.includes(scope));
  if (added.length === 0) return;
  try {
    await withLease(work, 'apps.update', async (ctx, { slug }) => {
      const change = await addDataScopes(ctx, { tenantId, appId }, added);
      if (change)
        ctx.audit({
          action: 'apps.update',
          appId,
          target: { kind: 'app', id: appId, name: slug },
          before: { data_scopes: change.before },
          after: { data_scopes: change.after },
        });
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new BuildError('detect', `svc.yaml: app.${error.detail ?? error.message}.`);
  }
  work.log.sink('platform', `svc.yaml requests more data scopes: ${added.join(', ')}.`);
}
