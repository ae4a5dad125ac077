import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { deployMethods } from './apps.ts';
import { SchemaStep } from './declared-tables.shapes.ts';
import {
  deploymentFailureCodes,
  deploymentKinds,
  deploymentSources,
  deploymentStates,
  deploymentSteps,
  deploymentTriggers,
  envEnvironments,
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
  instanceStates,
  logLinesPerPageMax,
  logStreams,
  logWaitSecondsMax,
  scaleSources,
} from './deployments.ts';
import { gitRef } from './git-host.shapes.ts';
import { instancesMax } from './manifest.ts';
import { publicationStatuses, reviewKinds } from './review.ts';
import { page, pageQuery, text, timestamp, unchanged, uuid, wholeNumber } from './shapes.ts';

const deploymentParams = appParams.extend({ deployment: uuid });

export const Deployment = z.object({
  id: uuid,
  app_id: uuid,
  seq: z.int().meta({ description: '1, 2, 3 … within the app; the newest that succeeds is live.' }),
  kind: z.enum(deploymentKinds),
  trigger: z.enum(deploymentTriggers),
  state: z.enum(deploymentStates),
  queue_position: z.int().nullable().meta({
    description:
      'While it is queued: 1 is the next to start, over all apps. It also waits for a deployment of the same app that is under way.',
  }),
  step: z.enum(deploymentSteps).nullable().meta({ description: 'The current step, or the one that failed.' }),
  method: z.enum(deployMethods),
  source: z.enum(deploymentSources),
  repo: z.string().nullable(),
  ref: z.string().nullable(),
  commit: z.string().nullable(),
  commit_message: z.string().nullable(),
  digest: z.string().nullable().meta({ description: 'Digest of the build; null before it.' }),
  rollback_of: uuid.nullable(),
  release_id: uuid.nullable().meta({ description: 'With `static`: the release that was created.' }),
  failure: z
    .object({
      code: z.enum(deploymentFailureCodes),
      step: z.enum(deploymentSteps),
      detail: z.string(),
      log_url: z.string().meta({ description: 'URL of the build log, for the owners.' }),
    })
    .nullable(),
  review: z
    .object({
      id: uuid,
      kind: z.enum(reviewKinds),
      status: z.enum(publicationStatuses),
      reason: z.string().meta({ description: 'Of the decision.' }),
    })
    .nullable()
    .meta({ description: 'The latest review that decides whether it goes live; null: none was needed yet.' }),
  kept: z.boolean().meta({ description: 'Whether the build is still stored, for a rollback.' }),
  url: z.string().nullable().meta({ description: 'The URL of the app.' }),
  created_by: uuid.nullable(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  built_at: timestamp.nullable(),
  live_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
});

export const processName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'must be the name of a process')
  .meta({ description: '`web` answers requests.' });

export const LogLine = z.object({
  time: timestamp,
  stream: z.enum(logStreams),
  process: z.string().nullable().meta({ description: 'Of the app that runs; null in a build log.' }),
  deployment: z.int().nullable().meta({
    description: 'The number of the deployment that wrote the line; null in the log of a run.',
  }),
  text: z.string(),
});

export const LogPage = z.object({
  items: z.array(LogLine),
  next_cursor: z
    .string()
    .meta({ description: 'Cursor for the lines that follow; also present if there are none yet.' }),
  ended: z.boolean().meta({ description: 'The log is complete.' }),
});

export const logQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: wholeNumber(1, logLinesPerPageMax).default(200),
  tail: wholeNumber(1, logLinesPerPageMax)
    .optional()
    .meta({ description: 'Without a cursor: start with this many of the last lines.' }),
  wait_seconds: wholeNumber(0, logWaitSecondsMax)
    .default(0)
    .meta({ description: 'If there is nothing after the cursor: wait up to this long.' }),
});

export const listDeployments = {
  params: appParams,
  query: pageQuery.extend({ state: z.enum(deploymentStates).optional() }),
  answer: page(Deployment),
};
export const getDeployment = { params: deploymentParams, answer: Deployment };
export const createDeployment = {
  params: appParams,
  body: z.strictObject({
    ref: gitRef
      .optional()
      .meta({ description: 'A ref of the connected repository; defaults to the connected branch.' }),
    upload_id: uuid.optional().meta({ description: 'Uploaded source, instead of a repository.' }),
    upload_pending: z.literal(true).optional().meta({
      description:
        'With `dry_run` alone: of source that is yet to be uploaded; the plan is that of the deployment.',
    }),
    prune: z
      .boolean()
      .optional()
      .meta({ description: 'Drop tables, columns and indexes that `tables` of svc.yaml does not name.' }),
    allow_destructive: z.boolean().optional().meta({
      description: 'Allow changes of tables that lose values; a review allows those that it shows.',
    }),
  }),
  answer: Deployment,
};
export const grantSourceUpload = {
  params: appParams,
  answer: z.object({ upload_id: uuid, put_url: z.string(), expires_at: timestamp, bytes_max: z.int() }),
};
export const cancelDeployment = {
  params: deploymentParams,
  answer: Deployment.extend({ changed: unchanged }),
};
export const restartApp = { params: appParams, answer: Deployment };

export const Instance = z.object({
  id: uuid.nullable().meta({ description: 'Null while the app is asleep.' }),
  process: processName,
  index: z.int().meta({ description: '1, 2, 3 … within the process.' }),
  state: z.enum(instanceStates),
  since: timestamp.meta({ description: 'When it was started, or when the app fell asleep.' }),
  memory_bytes: z.int().nullable().meta({ description: 'Of the last sample; null before the first.' }),
  restarts: z.int().meta({ description: 'After it exited by itself.' }),
  deployment_id: uuid,
  deployment_seq: z.int(),
});
export const AppProcess = z.object({
  process: processName,
  instances: z.int().meta({ description: 'How many instances run while the app is awake.' }),
  set_by: z.enum(scaleSources).meta({
    description:
      '`manifest`: svc.yaml. `scale`: `apps.scale`, until a deployment whose svc.yaml sets the number of instances.',
  }),
});
export const getTableDrift = {
  params: appParams,
  answer: z.object({
    deployment: Deployment.pick({ id: true, seq: true })
      .nullable()
      .meta({ description: 'The live one; null if nothing is live.' }),
    declared: z.boolean().meta({ description: 'Its svc.yaml has tables.' }),
    steps: z
      .array(SchemaStep)
      .meta({ description: 'What would make the tables as declared, drops included.' }),
  }),
};
export const listInstances = {
  params: appParams,
  query: pageQuery,
  answer: page(Instance).extend({
    processes: z.array(AppProcess).meta({ description: 'Of the live deployment; none of a site.' }),
    serves: z.enum(['process', 'site', 'nothing']).meta({ description: 'What the live deployment is.' }),
  }),
};
export const scaleApp = {
  params: appParams,
  body: z.strictObject({
    instances: z
      .record(
        processName,
        z
          .int(`must be a whole number from 0 to ${instancesMax}`)
          .min(0, 'must be at least 0')
          .max(instancesMax, `must be at most ${instancesMax}`),
      )
      .refine((all) => Object.keys(all).length > 0, 'must name a process')
      .refine(({ web }) => web !== 0, 'must leave web at least 1 instance: suspend the app to stop it'),
  }),
  answer: z.object({ items: z.array(AppProcess), changed: unchanged }),
};

export const rollbackDeployment = { params: deploymentParams, answer: Deployment };
export const readBuildLog = { params: deploymentParams, query: logQuery, answer: LogPage };
export const readAppLog = {
  params: appParams,
  query: logQuery.extend({ deployment: uuid.optional(), process: processName.optional() }),
  answer: LogPage,
};

export const EnvVariable = z.object({
  name: z.string(),
  given_by: z.enum(['app', 'platform', 'manifest']).meta({
    description: '`app`: set by its owners. `manifest`: `env` in the `svc.yaml` of what is live.',
  }),
  updated_by: uuid.nullable(),
  updated_at: timestamp.nullable(),
});
const envName = z
  .string()
  .regex(envNamePattern, 'must be letters, digits and _, and not begin with a digit')
  .refine((name) => !envNamesReserved.test(name), 'is set by the platform');
const envValue = text.refine((value) => new TextEncoder().encode(value).length <= envValueBytesMax, {
  error: `must have ${envValueBytesMax} bytes at most`,
});

const environment = z.enum(envEnvironments).default('production').meta({
  description: '`production`: the app itself. `preview`: the previews of its branches.',
});

export const listEnv = {
  params: appParams,
  query: pageQuery.extend({ environment }),
  answer: page(EnvVariable),
};
export const changeEnv = {
  params: appParams,
  body: z
    .strictObject({
      set: z.record(envName, envValue).default({}),
      unset: z.array(envName).max(envVariablesMax).default([]),
      environment,
    })
    .refine(({ set, unset }) => Object.keys(set).length + unset.length > 0, {
      error: 'must change something',
    })
    .refine(({ set, unset }) => !unset.some((name) => Object.hasOwn(set, name)), {
      error: 'must not both set and unset a variable',
    }),
  answer: z.object({ items: z.array(EnvVariable), changed: unchanged }),
};
