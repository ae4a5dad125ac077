import type * as shapes from './deployments.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const deploymentStates = [
  ...['queued', 'building', 'built', 'releasing', 'live'],
  ...['superseded', 'failed', 'canceled', 'skipped'],
] as const;
/** Nothing more happens to these by themselves. */
export const deploymentEndStates = ['live', 'superseded', 'failed', 'canceled', 'skipped'] as const;
/** Why it was made. `resume`: a suspended app runs again. */
export const deploymentKinds = ['deploy', 'rollback', 'resume'] as const;
export const deploymentSources = ['repository', 'upload', 'artifact'] as const;
export const deploymentTriggers = ['person', 'push', 'bootstrap', 'resume'] as const;
/** Why one failed; `step` says where. */
export const deploymentFailureCodes = [
  ...['source_unavailable', 'build_failed', 'runtime_unsupported', 'health_check_failed', 'release_timeout'],
  ...['promotion_required', 'lost', 'internal'],
] as const;
export const deploymentSteps = ['fetch', 'detect', 'build', 'start', 'health', 'switch'] as const;
export const logStreams = ['stdout', 'stderr', 'platform'] as const;

/** A copy of the server that works on one says so this often; another takes over when it has been silent so long. */
export const deploymentLeaseSeconds = 15;
/** What can be rolled back to beside what is live. */
export const artifactsKeptMax = 10;
export const sourceBytesMax = 200 * 1024 * 1024;
export const sourceUploadSeconds = 900;
export const sourceUploadsPerHourMax = 60;
/** What an archive of source may hold. */
export const sourceFilesMax = 50_000;
export const sourceUnpackedBytesMax = 1024 ** 3;
/** Where the source of a deployment is sent to. */
export const sourcesPrefix = '/sources/';
export const logLineBytesMax = 8 * 1024;
export const logLinesPerPageMax = 1_000;
/** How long an answer waits for the next line at most. */
export const logWaitSecondsMax = 20;
export const buildLogLinesMax = 20_000;
export const appLogLinesKept = 10_000;
export const healthTimeoutSecondsDefault = 60;
export const buildMinutesMax = 15;

export const envVariablesMax = 100;
export const envValueBytesMax = 32 * 1024;
export const envNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** Given by the platform; not to be set. */
export const envNamesReserved = /^(?:PORT|HOST|HOME|PATH|TMPDIR|USER|SHELL|NODE_OPTIONS|LD_.*|SVC_.*)$/;

const owners = { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners' } as const;
const ownersOnly = { authority: owners, who: who('O:y C:y A:n M:n P:n N:n X:n') } as const;
const governed = {
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
const app = '/api/v1/tenants/{tenantID}/apps/{app}';
const collection = `${app}/deployments`;
const one = `${collection}/{deployment}`;

export const listDeployments = endpoint<typeof shapes.listDeployments>()({
  id: 'deployments.list',
  method: 'GET',
  path: collection,
  summary: 'The deployments of an app, the newest first',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const getDeployment = endpoint<typeof shapes.getDeployment>()({
  id: 'deployments.get',
  method: 'GET',
  path: one,
  summary: 'One deployment',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

/** Older ones that still wait are skipped: the newest is what counts. */
export const createDeployment = endpoint<typeof shapes.createDeployment>()({
  id: 'deployments.create',
  method: 'POST',
  path: collection,
  summary: 'Deploy the app from its connected repository, or from source that was uploaded',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: ['not_found', 'app_not_active', 'app_suspended', 'no_source', 'runtime_unsupported'],
  perMinuteMax: 120,
});

export const grantSourceUpload = endpoint<typeof shapes.grantSourceUpload>()({
  id: 'deployments.grantUpload',
  method: 'POST',
  path: `${app}/sources`,
  summary: 'An address to send the source of a deployment to: a tar archive, compressed with gzip',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: ['not_found', 'app_not_active', 'app_suspended', 'limit_reached'],
  perMinuteMax: 120,
});

export const cancelDeployment = endpoint<typeof shapes.cancelDeployment>()({
  id: 'deployments.cancel',
  method: 'POST',
  path: `${one}/cancel`,
  summary: 'Stop a deployment that waits or is being built',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'not_cancelable'],
});

export const rollbackDeployment = endpoint<typeof shapes.rollbackDeployment>()({
  id: 'deployments.rollback',
  method: 'POST',
  path: `${one}/rollback`,
  summary: 'Deploy again what an earlier deployment made, with the environment it had',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: [
    ...(['not_found', 'app_not_active', 'app_suspended', 'not_rollback_target'] as const),
    ...(['artifact_expired', 'runtime_unsupported', 'release_revoked'] as const),
  ],
});

export const readBuildLog = endpoint<typeof shapes.readBuildLog>()({
  id: 'deployments.logs',
  method: 'GET',
  path: `${one}/logs`,
  summary: 'What a deployment said while it was built and released',
  kind: 'read',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'invalid_cursor'],
});

export const readAppLog = endpoint<typeof shapes.readAppLog>()({
  id: 'apps.logs',
  method: 'GET',
  path: `${app}/logs`,
  summary: 'What the running app writes',
  kind: 'read',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'invalid_cursor'],
});

export const listEnv = endpoint<typeof shapes.listEnv>()({
  id: 'env.list',
  method: 'GET',
  path: `${app}/env`,
  summary: 'The names of the variables that the app runs with; values are never shown',
  kind: 'read',
  ...ownersOnly,
  status: 200,
  errors: ['not_found'],
});

export const changeEnv = endpoint<typeof shapes.changeEnv>()({
  id: 'env.change',
  method: 'PATCH',
  path: `${app}/env`,
  summary: 'Set and unset variables; they count from the next deployment on',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active', 'limit_reached'],
});
