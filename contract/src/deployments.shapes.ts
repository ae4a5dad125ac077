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
  logLinesPerPageMax,
  logStreams,
  logWaitSecondsMax,
} from './deployments.ts';
import { gitCommitPattern, isGitRef } from './git-names.ts';
import { page, pageQuery, text, timestamp, unchanged, uuid, wholeNumber } from './shapes.ts';

const deploymentParams = appParams.extend({ deployment: uuid });

export const Deployment = z.object({
  id: uuid,
  app_id: uuid,
  seq: z.int().meta({ description: '1, 2, 3 … within the app; the newest that succeeds is live.' }),
  kind: z.enum(deploymentKinds),
  trigger: z.enum(deploymentTriggers),
  state: z.enum(deploymentStates),
  step: z.enum(deploymentSteps).nullable().meta({ description: 'What is being done, or failed.' }),
  method: z.enum(deployMethods),
  source: z.enum(deploymentSources),
  repo: z.string().nullable(),
  ref: z.string().nullable(),
  commit: z.string().nullable(),
  commit_message: z.string().nullable(),
  digest: z.string().nullable().meta({ description: 'Of what was built; null before that.' }),
  rollback_of: uuid.nullable(),
  release_id: uuid.nullable().meta({ description: 'With `static`: the release it made.' }),
  failure: z
    .object({
      code: z.enum(deploymentFailureCodes),
      step: z.enum(deploymentSteps),
      detail: z.string(),
      log_url: z.string().meta({ description: 'Where its log is read, by its owners.' }),
    })
    .nullable(),
  kept: z.boolean().meta({ description: 'Whether what was built is there to be rolled back to.' }),
  url: z.string().nullable().meta({ description: 'Where the app answers.' }),
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
  next_cursor: z.string().meta({ description: 'For what comes after; also where nothing has come yet.' }),
  ended: z.boolean().meta({ description: 'Nothing will follow.' }),
});

const logQuery = z.strictObject({
  cursor: z.string().max(200).optional(),
  limit: wholeNumber(1, logLinesPerPageMax).default(200),
  tail: wholeNumber(1, logLinesPerPageMax)
    .optional()
    .meta({ description: 'Without a cursor: begin with the last lines, so many of them.' }),
  wait_seconds: wholeNumber(0, logWaitSecondsMax)
    .default(0)
    .meta({ description: 'Where nothing has come since the cursor: wait this long for it.' }),
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
    ref: z
      .string()
      .refine(
        (value) => isGitRef(value) || gitCommitPattern.test(value),
        'must be a branch, a tag or a commit',
      )
      .optional()
      .meta({ description: 'Of the connected repository; its connected branch when absent.' }),
    upload_id: uuid.optional().meta({ description: 'Source that was uploaded, in place of a repository.' }),
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
