import { join } from 'node:path';
import { sourcesPrefix } from '@svc/contract/deployments.ts';
import { gitSetupPath, gitWebhookPath } from '@svc/contract/git-host.ts';
import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import { type AppRef, onApp } from '../apps/app-events.ts';
import type { AppMutationCtx } from '../core/context.ts';
import { mergePlanParts } from '../core/events.ts';
import type { DataServices } from '../data/module.ts';
import { installationId } from '../data/raw-databases/lifecycle.ts';
import type { DriverDeps } from '../drivers/deps.ts';
import { createGitClient, type GitClient, removeStaleGitFolders } from '../drivers/git/git-client.ts';
import { createHelperLauncher, createLocalLauncher, gitFolderNames } from '../drivers/git/git-launcher.ts';
import { findGitSandboxProblem } from '../drivers/git/git-sandbox.ts';
import { localUrl, openGitHost } from '../drivers/git/open-git-host.ts';
import type { ObjectStoreConfig } from '../drivers/object-store/open-object-store.ts';
import { openRuntime } from '../drivers/runtime/open-runtime.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { npmRegistryUrl, openRegistry } from '../drivers/toolchains/registry.ts';
import { openToolchains, type Toolchains } from '../drivers/toolchains/toolchains.ts';
import { at, under } from '../http/front.ts';
import type { Module } from '../http/module.ts';
import type { IdentityServices } from '../identity/module.ts';
import type { PeopleServices } from '../people/module.ts';
import type { BootstrapDeps } from './bootstrap/rules.ts';
import { linkEvents } from './bootstrap/runs.ts';
import { createBootstrapWorker } from './bootstrap/state-machine.ts';
import {
  createBuildStore,
  deleteOrphanedArtifacts,
  discardArtifact,
  discardTopic,
  imageKey,
  removeOrphanBuilds,
  removeUnusedToolchains,
} from './deployments/artifacts.ts';
import { deploymentEnvironment } from './deployments/build-deployment.ts';
import { logRoutes } from './deployments/deployment-logs.ts';
import { deploymentEnvKey, findLiveDeployment, findLiveProcess } from './deployments/deployment-record.ts';
import { resumeDeployment } from './deployments/deployments.ts';
import { releaseBecameActive } from './deployments/go-live.ts';
import { openDeployments } from './deployments/open-deployments.ts';
import { discardDeployments, pushDeployments, stopDeployments } from './deployments/queue-deployment.ts';
import type { BuildStore } from './deployments/rules.ts';
import { countEnv, envKey } from './env/env.ts';
import { setupPage } from './git-connections/browser-connections.ts';
import { createConnectedApps } from './git-connections/connected-apps.ts';
import { purgeConnection } from './git-connections/connections.ts';
import { createHook, createHookTopic, removeHook, removeHookTopic } from './git-connections/hooks.ts';
import { gitConnectionRoutes } from './git-connections/routes.ts';
import type { GitDeps, PushPreviews } from './git-connections/rules.ts';
import { gitLinkKey } from './git-connections/user-tokens.ts';
import { createWebhookReceiver } from './git-connections/webhook.ts';
import { builtInAppKey } from './git-host/deps.ts';
import { createGitHost, type GitHostService, gitHostJobs } from './git-host/git-host.ts';
import { hookKey } from './git-host/hooks.ts';
import { gitPrefix } from './git-host/paths.ts';
import { removeFolderTopic, removeRepositoryFolder } from './git-host/repositories.ts';
import { gitTokenKey } from './git-host/tokens.ts';
import { createLogWaits, deleteExpiredLogs, type LogWaits } from './logs/log-lines.ts';
import { createLogSink } from './logs/log-sink.ts';
import {
  type AppMetrics,
  createAppMetrics,
  createUsageSampler,
  deleteExpiredMetrics,
} from './metrics/app-metrics.ts';
import { createPushPreviews, removeExpiredPreviews, removePreviews } from './previews/previews.ts';
import { countPublications } from './review/publications.ts';
import {
  expirePublicationRequests,
  isUnderReview,
  requestDeploymentReview,
  supersedeOpenRequest,
  withdrawOpenRequest,
} from './review/requests.ts';
import {
  appEnvRoutes,
  appMetricsRoutes,
  bootstrapRoutes,
  deploymentRoutes,
  detectRoutes,
  ownTemplateRoutes,
  previewRoutes,
  reviewRoutes,
  runRoutes,
  sourceRoutes,
  staticSiteRoutes,
  templateRoutes,
} from './routes.ts';
import { createCallTracker } from './runs/call-app.ts';
import { cancelOpenRuns, deleteExpiredRuns } from './runs/runs.ts';
import { syncSchedules } from './runs/schedules.ts';
import { startRuns } from './runs/worker.ts';
import { registerServer } from './server-registry.ts';
import { createSourcesHandler } from './sources/receive-source.ts';
import { deleteAppSources, deleteExpiredSources, purgeSources } from './sources/sources.ts';
import {
  cleanUpReleases,
  purgeStaticSite,
  removeBlobs,
  removeOrphanObjects,
  removeSiteObjects,
} from './static-sites/cleanup.ts';
import { onLive } from './static-sites/live-events.ts';
import { cancelPromotion } from './static-sites/pointers.ts';
import { countedRelease, createUploadsHandler } from './static-sites/uploads.ts';

/** After the start, which the trial would make longer. */
const gitTrialMs = 2_000;

export interface DeliveryServices {
  runtime: Runtime;
  toolchains: Toolchains | null;
  builds: BuildStore | null;
  git: GitDeps;
  gitClient: GitClient;
  gitHost: GitHostService;
  previews: PushPreviews;
  bootstrap: BootstrapDeps;
  logWaits: LogWaits;
  appMetrics: AppMetrics;
}

type DeliveryConfig = Parameters<typeof openRuntime>[0] &
  Parameters<typeof openGitHost>[0] & { databaseUrl: string | undefined; objectStore: ObjectStoreConfig };

type DeliveryDeps = DriverDeps &
  PeopleServices &
  IdentityServices &
  DataServices & { config: DeliveryConfig };

/** Provided by the edge, which is open before anything here starts. */
interface RunningDeps {
  requestsInFlight: Parameters<typeof openDeployments>[0]['inFlight'];
}

async function stopApp(ctx: AppMutationCtx, app: AppRef) {
  const stopped = await stopDeployments(ctx, app);
  await cancelOpenRuns(ctx, app);
  await removePreviews(ctx, app);
  return stopped;
}

async function withdrawApp(ctx: AppMutationCtx, app: AppRef, why: 'archived' | 'deleted') {
  await stopApp(ctx, app);
  return mergePlanParts([await cancelPromotion(ctx, app), await withdrawOpenRequest(ctx, app, { why })]);
}

export const delivery: Module = {
  name: 'delivery',
  keys: [envKey, deploymentEnvKey, gitLinkKey, hookKey, gitTokenKey, builtInAppKey, imageKey],
  async open(deps: DeliveryDeps): Promise<DeliveryServices> {
    const { config, db, log, now, onStop } = deps;
    const runtime = await openRuntime(config, {
      log,
      installation: await installationId(db),
      imageKey: (await deps.keys.follow(imageKey)).current,
    });
    onStop(() => runtime.close());
    const builtIn = await deps.keys.follow(builtInAppKey);
    const gitHostClient = await openGitHost(config, { builtIn });
    const git: GitDeps = { db, gitHost: gitHostClient, baseUrl: config.baseUrl, now };
    const workDir = join(config.dataDir, gitFolderNames.work);
    const { supervisor } = deps;
    const launcher =
      supervisor && config.supervised?.hasGitUser
        ? createHelperLauncher(supervisor.gitSocket)
        : createLocalLauncher();
    await removeStaleGitFolders(workDir, now(), launcher);
    const gitClient = createGitClient({ workDir, path: config.runtime.baseEnvironment.path, launcher });
    const logWaits = createLogWaits(deps.invalidation);
    const previews = createPushPreviews({ gitHost: gitHostClient, raw: deps.rawDatabases });
    const connected = {
      ...config,
      ...deps,
      gitHost: gitHostClient,
      pushDeployments,
      previews,
      waits: logWaits,
    };
    const gitHost = createGitHost({
      ...config,
      ...deps,
      app: builtIn,
      launcher,
      internalUrl: localUrl(config),
      connectedApps: createConnectedApps(connected),
    });
    onStop(gitHost.stop);
    const appMetrics = createAppMetrics(deps);
    const { toolchainDir: dir, baseEnvironment } = config.runtime;
    const registry = openRegistry(npmRegistryUrl(baseEnvironment));
    // Images bring their own tools.
    const toolchains =
      runtime.kind === 'process' ? openToolchains({ dir, registry, path: baseEnvironment.path, now }) : null;
    const buildsDir = join(config.dataDir, 'runtime', 'work');
    return {
      runtime,
      toolchains,
      // Files of the data dir are on the disk of the builds: a second copy there would help nobody.
      builds:
        config.objectStore.kind === 'file'
          ? null
          : createBuildStore({ ...deps, runtime, workDir: buildsDir }),
      git,
      gitClient,
      gitHost,
      previews,
      bootstrap: { ...config, ...deps, gitHost: gitHostClient, git: gitClient },
      logWaits,
      appMetrics,
    };
  },
  routes: ({
    config,
    urlKey,
    objects,
    git,
    bootstrap,
    runtime,
    logWaits,
    now,
  }: DeliveryDeps & DeliveryServices) => {
    const { baseUrl, appsDomain } = config;
    return [
      ...appMetricsRoutes,
      ...templateRoutes,
      ...staticSiteRoutes({ baseUrl, appsDomain, urlKey, objects, isUnderReview }),
      ...gitConnectionRoutes({ ...git, appsDomain, linkEvents, pushDeployments }),
      ...deploymentRoutes({ baseUrl, appsDomain, runtime }),
      ...runRoutes({ runtime, waits: logWaits }),
      ...previewRoutes({ baseUrl, appsDomain }),
      ...appEnvRoutes({ baseUrl, appsDomain, runtime, findLiveDeployment }),
      ...logRoutes({ waits: logWaits, now }),
      ...sourceRoutes({ baseUrl, urlKey }),
      ...detectRoutes(git),
      ...ownTemplateRoutes(git),
      ...bootstrapRoutes(bootstrap),
      ...reviewRoutes({ ...bootstrap, baseUrl, appsDomain, waits: logWaits, now }),
    ];
  },
  handlers: (deps: DeliveryDeps & DeliveryServices) => [
    { matches: under(uploadsPrefix), limit: countedRelease(deps), handle: createUploadsHandler(deps) },
    { matches: under(sourcesPrefix), handle: createSourcesHandler(deps) },
    { matches: under(gitPrefix), handle: deps.gitHost.handle },
    {
      matches: at(gitWebhookPath),
      handle: createWebhookReceiver({ ...deps, ...deps.git, pushDeployments }),
    },
    { matches: at(gitSetupPath), handle: setupPage },
  ],
  effects: ({ db, objects, git, gitHost, runtime, builds }: DeliveryDeps & DeliveryServices) => ({
    [createHookTopic]: createHook(git),
    [removeHookTopic]: removeHook(git),
    [removeFolderTopic]: removeRepositoryFolder(gitHost.deps.folders),
    [discardTopic]: discardArtifact({ db, runtime, builds }),
    'static.removeBlobs': removeBlobs({ objects }),
    'static.discardApp': removeSiteObjects({ objects }),
    'sources.discardApp': deleteAppSources({ objects }),
  }),
  jobs: (deps: DeliveryDeps & DeliveryServices) => [
    { name: 'releases.sweep', cron: '22 * * * *', run: () => cleanUpReleases(deps, { now: deps.now() }) },
    {
      name: 'releases.objects',
      cron: '12 4 * * *',
      run: () => removeOrphanObjects({ ...deps, now: deps.now() }),
    },
    { name: 'logs.sweep', cron: '32 * * * *', run: () => deleteExpiredLogs(deps) },
    { name: 'runs.sweep', cron: '37 * * * *', run: () => deleteExpiredRuns(deps.db, { now: deps.now() }) },
    { name: 'sources.sweep', cron: '42 * * * *', run: () => deleteExpiredSources(deps, { now: deps.now() }) },
    { name: 'deployments.artifacts', cron: '2 * * * *', run: () => deleteOrphanedArtifacts(deps) },
    { name: 'deployments.builds', cron: '22 4 * * *', run: () => removeOrphanBuilds(deps) },
    { name: 'toolchains.sweep', cron: '7 5 * * *', run: () => removeUnusedToolchains(deps) },
    { name: 'publications.expire', cron: '*/10 * * * *', run: () => expirePublicationRequests(deps) },
    { name: 'previews.expire', cron: '*/5 * * * *', run: () => removeExpiredPreviews(deps) },
    { name: 'metrics.sweep', cron: '52 * * * *', run: () => deleteExpiredMetrics(deps.db) },
    ...gitHostJobs(() => deps.gitHost.deps),
  ],
  subscriptions: ({ runtime }) => [
    onLive({
      releaseActivated: releaseBecameActive,
      findProcess: (ctx, app) => findLiveProcess(ctx.db, app),
      reviewRequired: requestDeploymentReview,
      changed: (ctx, { live = null, ...app }) => supersedeOpenRequest(ctx, app, { shown: live }),
    }),
    onLive({ changed: syncSchedules }),
    onApp({
      archived: (ctx, app) => withdrawApp(ctx, app, 'archived'),
      deleted: (ctx, app) => withdrawApp(ctx, app, 'deleted'),
      suspended: async (ctx, app) => {
        const { canceled } = await stopApp(ctx, app);
        if (canceled.length === 0) return undefined;
        return {
          before: { resuming: canceled.map((seq) => `#${seq}`).join(', ') },
          after: { resuming: null },
        };
      },
      resumed: async (ctx, app) => {
        const deployment = await resumeDeployment(ctx, app, runtime);
        return deployment && { seq: deployment.row.seq, isNew: deployment.isNew };
      },
      narrowed: (ctx, app) => withdrawOpenRequest(ctx, app, { why: 'narrowed' }),
      purged: async (ctx, app) => {
        const variables = await countEnv(ctx.db, app);
        const publication_requests = await countPublications(ctx, app);
        const { deployments } = await discardDeployments(ctx, app);
        purgeSources(ctx, app);
        const connection = await purgeConnection(ctx, app);
        const site = await purgeStaticSite(ctx, app);
        return { removed: { ...site, variables, deployments, ...connection, publication_requests } };
      },
    }),
  ],
  async start(deps: DeliveryDeps & DeliveryServices & RunningDeps) {
    const { config, db, log, runtime, appMetrics, invalidation, onStop, onStopping } = deps;
    const gitTrial = setTimeout(() => {
      const problem = findGitSandboxProblem();
      if (problem !== null) log.warn({ problem }, 'git runs without a sandbox');
    }, gitTrialMs);
    onStop(async () => clearTimeout(gitTrial));
    onStop((await registerServer(deps, config)).stop);
    appMetrics.start();
    onStop(appMetrics.stop);
    deps.metrics.setAppTotals(appMetrics.totals);
    const logs = createLogSink({ db, log });
    const calls = createCallTracker();
    const deployments = await openDeployments({
      ...config,
      ...deps,
      logs,
      inFlight: (address) => deps.requestsInFlight(address) + calls.count(address),
      sample: createUsageSampler({ db, runtime, metrics: appMetrics }).sample,
      processes:
        config.databaseUrl === undefined && (config.supervised?.worker?.count ?? 1) === 1 ? 'one' : 'many',
    });
    onStop(() => deployments.stop());
    const environment = deploymentEnvironment(db, { ...config, rawDatabases: deps.rawDatabases });
    const runs = startRuns({ ...deps, urls: config, logs, calls, environment }, invalidation);
    onStop(() => runs.stop());
    const bootstraps = createBootstrapWorker(deps.bootstrap, { invalidation });
    bootstraps.start();
    onStop(() => bootstraps.stop());
    onStopping(() => {
      deps.logWaits.stop();
      void bootstraps.stop();
    });
  },
};
