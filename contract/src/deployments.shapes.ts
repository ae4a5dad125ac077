import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { deployMethods } from './apps.ts';
import {
  deploymentFailureCodes,
  deploymentKinds,
  deploymentSources,
  deploymentStates,
  deploymentSteps,
  deploymentTriggers,
  envNamePattern,
  envNamesReserved,
  envValueBytesMax,
  envVariablesMax,
  instanceStates,
  logLinesPerPageMax,
  logStreams,
  logWaitSecondsMax,
} from './deployments.ts';
import { gitRef } from './git-host.shapes.ts';
import { page, pageQuery, text, timestamp, unchanged, uuid, wholeNumber } from './shapes.ts';

const deploymentParams = appParams.extend({ deployment: uuid });

export const Deployment = z.object({
  id: uuid,
  app_id: uuid,
  seq: z.int().meta({ description: '1, 2, 3 … within the app; the newest that succeeds is live.' }),
  kind: z.enum(deploymentKinds),
  trigger: z.enum(deploymentTriggers),
  state: z.enum(deploymentStates),
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
  kept: z.boolean().meta({ description: 'Whether the build is still stored, for a rollback.' }),
  url: z.string().nullable().meta({ description: 'The URL of the app.' }),
  created_by: uuid.nullable(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  built_at: timestamp.nullable(),
  live_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
});

export const LogLine = z.object({
  time: timestamp,
  stream: z.enum(logStreams),
  text: z.string(),
});

const LogPage = z.object({
  items: z.array(LogLine),
  next_cursor: z
    .string()
    .meta({ description: 'Cursor for the lines that follow; also present if there are none yet.' }),
  ended: z.boolean().meta({ description: 'The log is complete.' }),
});

const logQuery = z.strictObject({
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
  id: uuid,
  process: z.string().meta({ description: '`web` answers requests.' }),
  state: z.enum(instanceStates),
  deployment_id: uuid,
  deployment_seq: z.int(),
  restarts: z.int().meta({ description: 'After it exited by itself.' }),
  started_at: timestamp,
});
export const listInstances = { params: appParams, query: pageQuery, answer: page(Instance) };

export const rollbackDeployment = { params: deploymentParams, answer: Deployment };
export const readBuildLog = { params: deploymentParams, query: logQuery, answer: LogPage };
export const readAppLog = {
  params: appParams,
  query: logQuery.extend({ deployment: uuid.optional() }),
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
  .refine((name) => !envNamesReserved.test(name), 'is given by the platform');
const envValue = text.refine((value) => new TextEncoder().encode(value).length <= envValueBytesMax, {
  error: `must have ${envValueBytesMax} bytes at most`,
});

export const listEnv = { params: appParams, query: pageQuery, answer: page(EnvVariable) };
export const changeEnv = {
  params: appParams,
  body: z
    .strictObject({
      set: z.record(envName, envValue).default({}),
      unset: z.array(envName).max(envVariablesMax).default([]),
    })
    .refine(({ set, unset }) => Object.keys(set).length + unset.length > 0, {
      error: 'must change something',
    })
    .refine(({ set, unset }) => !unset.some((name) => Object.hasOwn(set, name)), {
      error: 'must not both set and unset a variable',
    }),
  answer: z.object({ items: z.array(EnvVariable), changed: unchanged }),
};
