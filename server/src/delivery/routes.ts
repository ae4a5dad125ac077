import * as appMetricsShapes from '@svc/contract/app-metrics.shapes.ts';
import * as appMetricsEndpoints from '@svc/contract/app-metrics.ts';
import * as bootstrapShapes from '@svc/contract/bootstrap.shapes.ts';
import * as bootstrapEndpoints from '@svc/contract/bootstrap.ts';
import * as deploymentsShapes from '@svc/contract/deployments.shapes.ts';
import * as deploymentsEndpoints from '@svc/contract/deployments.ts';
import type { BuildSettings } from '@svc/contract/detect/settings.ts';
import * as gitHostShapes from '@svc/contract/git-host.shapes.ts';
import * as gitHostEndpoints from '@svc/contract/git-host.ts';
import * as previewsShapes from '@svc/contract/previews.shapes.ts';
import * as previewsEndpoints from '@svc/contract/previews.ts';
import * as reviewShapes from '@svc/contract/review.shapes.ts';
import * as reviewEndpoints from '@svc/contract/review.ts';
import * as runsShapes from '@svc/contract/runs.shapes.ts';
import * as runsEndpoints from '@svc/contract/runs.ts';
import * as staticSitesShapes from '@svc/contract/static-sites.shapes.ts';
import * as staticSitesEndpoints from '@svc/contract/static-sites.ts';
import * as templatesShapes from '@svc/contract/templates.shapes.ts';
import * as templatesEndpoints from '@svc/contract/templates.ts';
import type { TenantAccess } from '../core/context.ts';
import type { OperatorDeps } from '../core/mutation.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import { type Route, type RunMode, route, routes } from '../http/router.ts';
import type { BootstrapDeps } from './bootstrap/rules.ts';
import { cancelBootstrap, getBootstrap } from './bootstrap/runs.ts';
import {
  type Deferred,
  deferFailure,
  forkApp,
  type PreparedBootstrap,
  type PreparedFork,
  prepareBootstrap,
  prepareFork,
  startBootstrap,
  unwrapDeferred,
} from './bootstrap/start-run.ts';
import { getTableDrift } from './deployments/apply-tables.ts';
import type { LogDeps } from './deployments/deployment-logs.ts';
import {
  cancelDeployment,
  createDeployment,
  getDeployment,
  listDeployments,
  requireSupportedMethod,
  restartApp,
  rollbackDeployment,
} from './deployments/deployments.ts';
import { type DeploymentRequest, deploymentRequest } from './deployments/instances.ts';
import { listInstances, scaleApp } from './deployments/processes.ts';
import { detectRepository } from './detect/detect-repository.ts';
import { changeEnv, type EnvDeps, listEnv } from './env/env.ts';
import type { GitDeps } from './git-connections/rules.ts';
import type { LogWaits } from './logs/log-lines.ts';
import { getAppMetrics } from './metrics/app-metrics.ts';
import {
  deletePreview,
  getPreview,
  listPreviews,
  type PreviewUrls,
  redeployPreview,
} from './previews/previews.ts';
import {
  approvePublication,
  rejectPublication,
  requestPublication,
  withdrawPublication,
} from './review/decisions.ts';
import { getPublication, listAppPublications, listPublications } from './review/publications.ts';
import { endRequestIfOverdue } from './review/requests.ts';
import {
  approveReview,
  getReview,
  listAppReviews,
  listReviews,
  readReviewLog,
  rejectReview,
  withdrawReview,
} from './review/reviews.ts';
import { cancelRun, createRun, getRun, listRuns, readRunLog } from './runs/runs.ts';
import { listScheduleRuns, listSchedules, runSchedule } from './runs/schedules.ts';
import { grantSourceUpload, type SourceDeps } from './sources/sources.ts';
import { approvePromotion, rejectPromotion, requestPromotion } from './static-sites/promotions.ts';
import { createRelease, finalizeRelease } from './static-sites/release-drafts.ts';
import {
  activateRelease,
  revokeRelease,
  rollbackRelease,
  stageRelease,
} from './static-sites/release-moves.ts';
import {
  diffRelease,
  getRelease,
  getReleaseFile,
  listReleaseFiles,
  listReleases,
  type ReleaseFileDeps,
} from './static-sites/releases.ts';
import type { SiteUrls } from './static-sites/rules.ts';
import { disableStaging, enableStaging, getSite, setSite, unpublishSite } from './static-sites/site.ts';
import { grantUpload, type SiteDeps } from './static-sites/uploads.ts';
import { createTemplate, deleteTemplate, detectTemplate, listTemplates } from './templates/templates.ts';

export const staticSiteRoutes = (deps: SiteDeps & ReleaseFileDeps): Route[] =>
  routes(staticSitesEndpoints, staticSitesShapes, {
    getSite: (ctx) => getSite(ctx, deps),
    setSite: (ctx, { body }) => setSite(ctx, body, deps),
    enableStaging: (ctx) => enableStaging(ctx, deps),
    disableStaging: (ctx) => disableStaging(ctx, deps),
    unpublishSite: (ctx) => unpublishSite(ctx, deps),
    listReleases: (ctx, { query }) => listReleases(ctx, query),
    getRelease: (ctx, { params }) => getRelease(ctx, { id: params.release }),
    listReleaseFiles: (ctx, { params, query }) => listReleaseFiles(ctx, { id: params.release, ...query }),
    diffRelease: (ctx, { params, query }) => diffRelease(ctx, { id: params.release, ...query }),
    getReleaseFile: (ctx, { params, query }) => getReleaseFile(ctx, { id: params.release, ...query }, deps),
    createRelease: (ctx, { body }) => createRelease(ctx, body, deps),
    grantUpload: (ctx, { params }) => grantUpload(ctx, { id: params.release }, deps),
    finalizeRelease: (ctx, { params }) => finalizeRelease(ctx, { id: params.release }, deps),
    stageRelease: (ctx, { params }) => stageRelease(ctx, { id: params.release }, deps),
    activateRelease: (ctx, { params }) => activateRelease(ctx, { id: params.release }, deps),
    rollbackRelease: (ctx, { params }) => rollbackRelease(ctx, { id: params.release }, deps),
    revokeRelease: (ctx, { params }) => revokeRelease(ctx, { id: params.release }, deps),
    requestPromotion: (ctx, { params, body }) => requestPromotion(ctx, { id: params.release, ...body }),
    approvePromotion: (ctx, { params, body }) => approvePromotion(ctx, { id: params.release, ...body }, deps),
    rejectPromotion: (ctx, { params, body }) => rejectPromotion(ctx, { id: params.release, ...body }),
  });

export const deploymentRoutes = ({
  runtime,
  ...urls
}: SiteUrls & { runtime: Pick<Runtime, 'refuses' | 'kind'> }): Route[] => [
  ...routes(deploymentsEndpoints, deploymentsShapes, {
    listDeployments: (ctx, { query }) => listDeployments(ctx, query, urls),
    getDeployment: (ctx, { params }) => getDeployment(ctx, { id: params.deployment }, urls),
    cancelDeployment: (ctx, { params }) => cancelDeployment(ctx, { id: params.deployment }, urls),
    restartApp: (ctx) => restartApp(ctx, { ...urls, runtime }),
    getTableDrift: (ctx) => getTableDrift(ctx),
    listInstances: (ctx, { query }) => listInstances(ctx, query),
    scaleApp: (ctx, { body }) => scaleApp(ctx, body),
    rollbackDeployment: (ctx, { params }) =>
      rollbackDeployment(ctx, { id: params.deployment }, { ...urls, runtime }),
  }),
  route(
    deploymentsEndpoints.createDeployment,
    deploymentsShapes.createDeployment,
    (ctx, _, request: DeploymentRequest) => createDeployment(ctx, request, urls),
    {
      prepare: async (ctx, { body }, run) => {
        const request = deploymentRequest(body, run);
        await requireSupportedMethod(ctx, runtime);
        return request;
      },
    },
  ),
];

export const runRoutes = (deps: { runtime: Runtime; waits: LogWaits }): Route[] =>
  routes(runsEndpoints, runsShapes, {
    createRun: (ctx, { body }) =>
      createRun(ctx, { command: body.command, timeoutSeconds: body.timeout_seconds }, deps),
    listRuns: (ctx, { query }) => listRuns(ctx, query),
    getRun: (ctx, { params }) => getRun(ctx, { id: params.run }),
    readRunLog: (ctx, { params, query }) => readRunLog(ctx, { id: params.run, query }, deps),
    cancelRun: (ctx, { params }) => cancelRun(ctx, { id: params.run }),
    listSchedules: (ctx, { query }) => listSchedules(ctx, query),
    listScheduleRuns: (ctx, { params, query }) => listScheduleRuns(ctx, { name: params.name }, query),
    runSchedule: (ctx, { params }) => runSchedule(ctx, { name: params.name }, deps),
  });

export const previewRoutes = (urls: PreviewUrls): Route[] =>
  routes(previewsEndpoints, previewsShapes, {
    listPreviews: (ctx, { query }) => listPreviews(ctx, query, urls),
    getPreview: (ctx, { params }) => getPreview(ctx, { slug: params.preview }, urls),
    redeployPreview: (ctx, { params }) => redeployPreview(ctx, { slug: params.preview }, urls),
    deletePreview: (ctx, { params }) => deletePreview(ctx, { slug: params.preview }),
  });

export const appEnvRoutes = (urls: EnvDeps): Route[] =>
  routes(deploymentsEndpoints, deploymentsShapes, {
    listEnv: (ctx, { query }) => listEnv(ctx, query, urls),
    changeEnv: (ctx, { body }) => changeEnv(ctx, body, urls),
  });

export const sourceRoutes = (deps: SourceDeps): Route[] =>
  routes(deploymentsEndpoints, deploymentsShapes, {
    grantSourceUpload: (ctx) => grantSourceUpload(ctx, deps),
  });

export const appMetricsRoutes: readonly Route[] = routes(appMetricsEndpoints, appMetricsShapes, {
  getAppMetrics: (ctx, { query }) => getAppMetrics(ctx, query),
});

export const detectRoutes = (parts: GitDeps): Route[] =>
  routes(gitHostEndpoints, gitHostShapes, {
    detectRepository: (ctx, { query }) => detectRepository(ctx, query, parts),
  });

export const templateRoutes: Route[] = routes(templatesEndpoints, templatesShapes, {
  listTemplates: (ctx, { query }) => listTemplates(ctx, query),
});

export const ownTemplateRoutes = (deps: GitDeps): Route[] => [
  ...routes(templatesEndpoints, templatesShapes, {
    deleteTemplate: (ctx, { params }) => deleteTemplate(ctx, { id: params.template }),
  }),
  route(
    templatesEndpoints.createTemplate,
    templatesShapes.createTemplate,
    (ctx, { body }, settings: BuildSettings) => createTemplate(ctx, body, settings),
    { prepare: (ctx, { body }) => detectTemplate(ctx, body, deps) },
  ),
];

export const bootstrapRoutes = (deps: BootstrapDeps): Route[] => [
  ...routes(bootstrapEndpoints, bootstrapShapes, {
    getBootstrap: (ctx, { params }) => getBootstrap(ctx, params, deps),
    cancelBootstrap: (ctx, { params }) => cancelBootstrap(ctx, params, deps),
  }),
  route(
    bootstrapEndpoints.startBootstrap,
    bootstrapShapes.startBootstrap,
    (ctx, { body }, prepared: Deferred<PreparedBootstrap>) =>
      startBootstrap(ctx, body, unwrapDeferred(prepared), deps),
    { prepare: (ctx, { body }, { mode }) => deferFailure(prepareBootstrap(ctx, body, deps, mode)) },
  ),
  route(
    bootstrapEndpoints.forkApp,
    bootstrapShapes.forkApp,
    (ctx, { body }, prepared: Deferred<PreparedFork>) => forkApp(ctx, body, unwrapDeferred(prepared), deps),
    { prepare: (ctx, { body }, { mode }) => deferFailure(prepareFork(ctx, body, deps, mode)) },
  ),
];

export const reviewRoutes = (deps: OperatorDeps & SiteUrls & LogDeps): Route[] => [
  ...routes(reviewEndpoints, reviewShapes, {
    requestPublication: (ctx, { body }) => requestPublication(ctx, body),
    listPublicationsOfApp: (ctx, { query }) => listAppPublications(ctx, query),
    listPublications: (ctx, { query }) => listPublications(ctx, query),
    getPublication: (ctx, { params }) => getPublication(ctx, { id: params.request }),
    rejectPublication: (ctx, { params, body }) => rejectPublication(ctx, { id: params.request, ...body }),
    withdrawPublication: (ctx, { params }) => withdrawPublication(ctx, { id: params.request }),
    listReviews: (ctx, { query }) => listReviews(ctx, query, deps),
    listReviewsOfApp: (ctx, { query }) => listAppReviews(ctx, query, deps),
    getReview: (ctx, { params }) => getReview(ctx, { id: params.request }, deps),
    readReviewLog: (ctx, { params, query }) => readReviewLog(ctx, { id: params.request, query }, deps),
    rejectReview: (ctx, { params, body }) => rejectReview(ctx, { id: params.request, urls: deps, ...body }),
    withdrawReview: (ctx, { params }) => withdrawReview(ctx, { id: params.request, urls: deps }),
  }),
  route(
    reviewEndpoints.approvePublication,
    reviewShapes.approvePublication,
    (ctx, { params, body }) => approvePublication(ctx, { id: params.request, ...body }),
    { prepare: ({ tenant }, { params }, run) => endIfOverdue(deps, tenant, { id: params.request, ...run }) },
  ),
  route(
    reviewEndpoints.approveReview,
    reviewShapes.approveReview,
    (ctx, { params, body }) => approveReview(ctx, { id: params.request, urls: deps, ...body }),
    { prepare: ({ tenant }, { params }, run) => endIfOverdue(deps, tenant, { id: params.request, ...run }) },
  ),
];

/** Only for callers who can decide, and never in a preview, which changes nothing. */
async function endIfOverdue(
  deps: OperatorDeps,
  tenant: TenantAccess,
  { id, mode }: { id: string; mode: RunMode },
): Promise<void> {
  if (mode === 'execute' && tenant.role === 'tenant_admin')
    await endRequestIfOverdue(deps, { tenantId: tenant.id, id });
}
