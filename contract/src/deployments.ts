import type * as shapes from './deployments.shapes.ts';
import { act, change, deployers, deployersOrAdmin, owners, read, replace, update } from './endpoint.ts';

export const deploymentStates = [
  'queued',
  'building',
  'built',
  'releasing',
  'live',
  'superseded',
  'failed',
  'canceled',
  'skipped',
] as const;
export const deploymentEndStates = ['live', 'superseded', 'failed', 'canceled', 'skipped'] as const;
export const deploymentKinds = ['deploy', 'rollback', 'resume', 'restart'] as const;
export const deploymentSources = ['repository', 'upload', 'artifact'] as const;
export const deploymentTriggers = ['person', 'push', 'bootstrap', 'resume'] as const;
export const deploymentFailureCodes = [
  'source_unavailable',
  'build_failed',
  'runtime_unsupported',
  'release_failed',
  'health_check_failed',
  'release_timeout',
  'promotion_required',
  'lost',
  'internal',
] as const;
export const deploymentSteps = ['fetch', 'detect', 'build', 'release', 'start', 'health', 'switch'] as const;
export const instanceStates = ['starting', 'ready', 'draining', 'asleep'] as const;
/** Origin of the number of instances of a process. */
export const scaleSources = ['default', 'manifest', 'scale'] as const;
export const logStreams = ['stdout', 'stderr', 'platform'] as const;

/** A replica renews its lease on a deployment; another takes over when the lease expires. */
export const deploymentLeaseSeconds = 15;
export const retainedArtifactsMax = 10;
export const sourceBytesMax = 200 * 1024 * 1024;
export const sourceUploadSeconds = 900;
export const sourceUploadsPerHourMax = 60;
export const sourceFilesMax = 50_000;
export const sourceUnpackedBytesMax = 1024 ** 3;
export const sourcesPrefix = '/sources/';
export const logLineBytesMax = 8 * 1024;
export const logLinesPerPageMax = 1_000;
export const logWaitSecondsMax = 20;
export const buildLogLinesMax = 20_000;
export const retainedAppLogLines = 10_000;
export const healthTimeoutSecondsDefault = 60;
export const buildMinutesMax = 15;

/** A preview gets the variables of `preview` and no others. */
export const envEnvironments = ['production', 'preview'] as const;
export const envVariablesMax = 100;
export const envValueBytesMax = 32 * 1024;
export const envNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
export const envNamesReserved = /^(?:PORT|HOST|HOME|PATH|TMPDIR|USER|SHELL|NODE_OPTIONS|LD_.*|SVC_.*)$/;

const app = '/api/v1/tenants/{tenantID}/apps/{app}';
const collection = `${app}/deployments`;
const one = `${collection}/{deployment}`;

export const listDeployments = read<typeof shapes.listDeployments>()({
  id: 'deployments.list',
  path: collection,
  summary: 'List the deployments of an app, newest first',
  ...deployersOrAdmin,
});

export const getDeployment = read<typeof shapes.getDeployment>()({
  id: 'deployments.get',
  path: one,
  summary: 'Get a deployment',
  ...deployersOrAdmin,
});

export const createDeployment = change<typeof shapes.createDeployment>()({
  id: 'deployments.create',
  path: collection,
  summary: 'Deploy the app from its connected repository or from uploaded source',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'no_source', 'runtime_unsupported'],
  perMinuteMax: 120,
  irreversible: 'sometimes',
});

export const grantSourceUpload = change<typeof shapes.grantSourceUpload>()({
  id: 'deployments.grantUpload',
  path: `${app}/sources`,
  summary: 'Get an upload URL for the source of a deployment (a gzip-compressed tar archive)',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'limit_reached'],
  perMinuteMax: 120,
});

export const cancelDeployment = act<typeof shapes.cancelDeployment>()({
  id: 'deployments.cancel',
  path: `${one}/cancel`,
  summary: 'Cancel a deployment that is queued or building',
  ...deployers,
  errors: ['not_cancelable'],
});

export const rollbackDeployment = change<typeof shapes.rollbackDeployment>()({
  id: 'deployments.rollback',
  path: `${one}/rollback`,
  summary: 'Roll back to an earlier deployment, with the environment that it had',
  ...deployers,
  errors: [
    'app_not_active',
    'app_suspended',
    'not_rollback_target',
    'artifact_expired',
    'runtime_unsupported',
    'release_revoked',
  ],
});

export const restartApp = change<typeof shapes.restartApp>()({
  id: 'apps.restart',
  path: `${app}/restart`,
  summary: 'Start the live build again, with the current environment; the app answers meanwhile',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'nothing_deployed', 'runtime_unsupported'],
});

export const getTableDrift = read<typeof shapes.getTableDrift>()({
  id: 'deployments.tableDrift',
  path: `${app}/schema/drift`,
  summary: 'Compare the tables with svc.yaml of the live build',
  ...owners,
});

export const listInstances = read<typeof shapes.listInstances>()({
  id: 'apps.instances',
  path: `${app}/instances`,
  summary: 'List the running instances of an app',
  ...deployersOrAdmin,
});

export const scaleApp = replace<typeof shapes.scaleApp>()({
  id: 'apps.scale',
  path: `${app}/scale`,
  summary: 'Set how many instances of each process run; processes that are not named stay as they are',
  ...deployers,
  errors: ['app_not_active', 'app_suspended', 'nothing_deployed', 'runtime_unsupported'],
});

export const readBuildLog = read<typeof shapes.readBuildLog>()({
  id: 'deployments.logs',
  path: `${one}/logs`,
  summary: 'Get the build log of a deployment',
  ...deployers,
  errors: ['invalid_cursor'],
});

export const readAppLog = read<typeof shapes.readAppLog>()({
  id: 'apps.logs',
  path: `${app}/logs`,
  summary: 'Get the log of the running app',
  ...owners,
  errors: ['invalid_cursor'],
});

export const listEnv = read<typeof shapes.listEnv>()({
  id: 'env.list',
  path: `${app}/env`,
  summary: "List the names of the app's environment variables; values are never shown",
  ...owners,
});

export const changeEnv = update<typeof shapes.changeEnv>()({
  id: 'env.change',
  path: `${app}/env`,
  summary: 'Set and unset environment variables, effective from the next deployment',
  ...owners,
  errors: ['app_not_active', 'limit_reached'],
});
