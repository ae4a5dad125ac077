import { createApp } from '../../apps/record/apps.ts';
import { recordOrigin } from '../../apps/record/status-store.ts';
import type { AppMutationCtx, AppRef, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import { createTablesFromDefinitions } from '../../data/tables/copy-tables.ts';
import {
  type GitHostInstallation,
  type Installation,
  type Repository,
  RepositoryError,
} from '../../drivers/git/git-host.ts';
import {
  type DeploymentStatus,
  deploymentStatus,
  newestDeploymentStatus,
} from '../deployments/deployment-record.ts';
import { queueDeployment } from '../deployments/queue-deployment.ts';
import { connectRepository, findConnection } from '../git-connections/connections.ts';
import { prepareConnection } from '../git-connections/repositories.ts';
import { getUserToken } from '../git-connections/user-tokens.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { setSite } from '../static-sites/site.ts';
import { resolveInstallation } from './host-checks.ts';
import { firstBranch, followDeployment, hookChecksMax, isMarked, markedDescription } from './rules.ts';
import { firstDeploymentId, type RepoOutput, requireCreatedRepo, stepOutput } from './runs.ts';
import { type Step, type StepEnd, StepError, type StepWork } from './step.ts';
import { type Run, type RunRow, updateRunRow } from './store.ts';

export const reserveApp: Step = async ({ deps, run }) => {
  return (ctx) => reserveAppFor(ctx, run, deps);
};

/** Without an approval this runs at the start of the run, so that the slug is taken at once. */
export async function reserveAppFor(
  ctx: TenantMutationCtx,
  run: Pick<RunRow, 'id' | 'tenant_id' | 'input' | 'template_id' | 'source_app_id'>,
  urls: SiteUrls,
): Promise<StepEnd> {
  const { app: input, siteConfig, tables } = run.input;
  const app = await createApp(ctx, input);
  const { id, slug, name } = app;
  await recordOrigin(ctx, {
    tenantId: run.tenant_id,
    appId: id,
    origin: { templateId: run.template_id, forkedFromId: run.source_app_id },
  });
  const own = { id, slug, name, ownerId: app.owner_id, visibility: app.visibility } as const;
  const inApp: AppMutationCtx = {
    ...ctx,
    app: { ...own, record: 'active', relation: 'owner', previewOf: null },
  };
  await createTablesFromDefinitions(inApp, tables);
  if (siteConfig !== null) await setSite(inApp, siteConfig, urls);
  await updateRunRow(ctx.db, run, { app_id: id });
  return { state: 'done', output: { appId: id }, detail: `The app ${slug} is created.` };
}

/** A repository with the mark of this run was created by an attempt whose response was lost. */
export const createRepo: Step = async ({ deps, run, creator }) => {
  const who = { tenantId: run.tenant_id, userId: run.created_by };
  const installation = await resolveInstallation(deps, {
    repo: run.input.repo,
    tenantSlug: creator.tenant.slug,
    who,
  });
  const userToken = await getUserToken(deps, who);
  const asInstallation = deps.gitHost.asInstallation(installation.id);
  const made =
    (await findMarked(asInstallation, installation, run)) ??
    (await createMarked(asInstallation, { installation, run, userToken }));
  const { id, owner, name, isPrivate, cloneUrl, webUrl } = made;
  const output: RepoOutput = {
    id,
    owner,
    name,
    isPrivate,
    cloneUrl,
    webUrl,
    installationId: installation.id,
  };
  return async () => ({ state: 'done', output: { ...output }, detail: `${owner}/${name} is created.` });
};

async function findMarked(host: GitHostInstallation, { account }: Installation, run: Run) {
  const { name } = run.input.repo;
  const there = await host.repository({ owner: account.login, name });
  if (!there) return null;
  if (isMarked(there.description, run.id)) return there;
  throw new StepError('repo_exists', `The repository ${account.login}/${name} already exists.`);
}

async function createMarked(
  host: GitHostInstallation,
  { installation, run, userToken }: { installation: Installation; run: Run; userToken: string },
): Promise<Repository> {
  const { name, isPrivate } = run.input.repo;
  const description = markedDescription(`The app ${run.slug}.`, run.id);
  try {
    return await host.createRepository({
      owner: installation.account,
      name,
      isPrivate,
      description,
      userToken,
    });
  } catch (error) {
    const made =
      error instanceof RepositoryError && error.reason === 'repo_exists'
        ? await findMarked(host, installation, run)
        : null;
    if (made) return made;
    throw error;
  }
}

const pollSeconds = 1;

export const connect: Step = async (work) => {
  const { deps, run } = work;
  const { app_id: appId, tenant_id: tenantId } = run;
  if (appId === null) throw new StepError('app_not_active', 'The app no longer exists.');
  const { isConnected, looks = 0 } = stepOutput<Connected>(run, 'connect');
  if (isConnected) return checkHook(work, { appId, looks: looks + 1 });
  const { owner, name, installationId } = requireCreatedRepo(run);
  const who = { tenantId, userId: run.created_by };
  const request = { repo: `${owner}/${name}`, branch: firstBranch, installationId };
  const prepared = await prepareConnection(deps, who, request).catch((error: unknown) => {
    // `not_found` means the repository, not the app.
    if (error instanceof Failure && error.code === 'not_found')
      throw new StepError('hook_failed', error.detail ?? 'The repository no longer exists.');
    throw error;
  });
  return async (ctx) => {
    await connectRepository(ctx, { tenantId, appId, connectedBy: run.created_by, prepared });
    return waitForHook({ looks: 0 });
  };
};

interface Connected {
  isConnected: true;
  looks: number;
}

const waitForHook = ({ looks }: { looks: number }): StepEnd => ({
  state: 'running',
  output: { isConnected: true, looks },
  detail: 'Connected; waiting for the webhook.',
  againAfterSeconds: pollSeconds,
});

async function checkHook(
  { deps, run }: StepWork,
  { appId, looks }: { appId: string; looks: number },
): Promise<() => Promise<StepEnd>> {
  const hook = (await findConnection(deps.db, { tenantId: run.tenant_id, appId }))?.hook;
  if (!hook) throw new StepError('hook_failed', 'The repository was disconnected.');
  if (hook.state === 'ok') {
    const output = { isConnected: true, looks, hookId: hook.id };
    return async () => ({ state: 'done', output, detail: `A push to ${firstBranch} deploys the app.` });
  }
  // The effect retries a failed hook.
  if (looks >= hookChecksMax)
    throw new StepError('hook_failed', hook.detail || 'The git host created no webhook.');
  return async () => waitForHook({ looks });
}

export const authorize: Step = async ({ deps, run }) => {
  await getUserToken(deps, { tenantId: run.tenant_id, userId: run.created_by });
  return async () => ({ state: 'done', output: {}, detail: 'Your account at the git host is linked.' });
};

/** Queues the deployment in the transaction that records its id, then waits for it. */
export const firstDeploy: Step = async ({ deps, run }) => {
  const { tenant_id: tenantId, app_id: appId } = run;
  if (appId === null) throw new StepError('app_not_active', 'The app no longer exists.');
  const appRef = { tenantId, appId };
  const known = firstDeploymentId(run);
  if (known === null) {
    const { owner, name } = requireCreatedRepo(run);
    const what = { trigger: 'bootstrap', source: 'repository', ref: firstBranch } as const;
    return async (ctx) =>
      waitForDeployment(
        await queueDeployment(ctx, {
          ...appRef,
          ...what,
          repo: `${owner}/${name}`,
          createdBy: run.created_by,
        }),
      );
  }
  const status = await loadFollowed(deps.db, appRef, known);
  const { is, ...failure } = followDeployment(status);
  if ('code' in failure) throw new StepError(failure.code, failure.detail);
  return async () => (is === 'done' ? deployStepEnd(status) : waitForDeployment(status));
};

/** A deployment that was skipped for a newer one, such as a push, is replaced by that one. */
async function loadFollowed(db: Db, appRef: AppRef, id: string) {
  const own = await deploymentStatus(db, appRef, id);
  const status = own?.state === 'skipped' ? await newestDeploymentStatus(db, appRef) : own;
  if (!status) throw new StepError('deploy_failed', 'The deployment no longer exists.');
  return status;
}

function waitForDeployment({ id, seq }: Pick<DeploymentStatus, 'id' | 'seq'>): StepEnd {
  const detail = `Deployment #${seq} is in progress.`;
  return {
    state: 'running',
    output: { deploymentId: id },
    detail,
    againAfterSeconds: pollSeconds,
  };
}

function deployStepEnd({ id, seq, state }: DeploymentStatus): StepEnd {
  const detail = state === 'built' ? `Deployment #${seq} needs a review.` : `Deployment #${seq} is live.`;
  return { state: 'done', output: { deploymentId: id }, detail };
}
