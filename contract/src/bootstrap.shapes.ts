import { z } from 'zod';
import { createApp } from './apps.shapes.ts';
import {
  bootstrapFailureCodes,
  bootstrapKinds,
  bootstrapStates,
  bootstrapStepStates,
  bootstrapSteps,
} from './bootstrap.ts';
import { GitDeviceCode, installationId } from './git-host.shapes.ts';
import { gitOwnerPattern, gitRepoNamePattern } from './git-names.ts';
import { ref, tenantParams, timestamp, unchanged, uuid } from './shapes.ts';

const fields = createApp.body.shape;
const repoName = z.string().regex(gitRepoNamePattern, 'must be the name of a repository');

export const BootstrapStep = z.object({
  name: z.enum(bootstrapSteps),
  state: z.enum(bootstrapStepStates),
  attempts: z.int(),
  detail: z.string().meta({ description: 'The result of the step, or its error.' }),
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
});

export const BootstrapRun = z.object({
  id: uuid,
  kind: z.enum(bootstrapKinds),
  state: z.enum(bootstrapStates),
  step: z.enum(bootstrapSteps).nullable().meta({ description: 'The current step, or the one that failed.' }),
  steps: z.array(BootstrapStep),
  template_id: uuid.nullable(),
  source_app_id: uuid.nullable(),
  slug: z.string(),
  app_id: uuid.nullable(),
  repo: z.string().nullable(),
  commit: z.string().nullable(),
  deployment_id: uuid.nullable(),
  url: z.string().nullable().meta({ description: 'The URL of the app.' }),
  clone_url: z.string().nullable(),
  failure: z.object({ code: z.enum(bootstrapFailureCodes), detail: z.string() }).nullable(),
  undo: z.array(z.string()).meta({ description: 'Commands that remove what a failed run created.' }),
  created_by: uuid,
  created_at: timestamp,
  ended_at: timestamp.nullable(),
});

export const runParams = tenantParams.extend({ run: uuid });

export const startBootstrap = {
  params: tenantParams,
  body: z.strictObject({
    template: ref.meta({ description: 'The id of a template, or the alias of a built-in one.' }),
    slug: fields.slug,
    name: fields.name.optional().meta({ description: 'Defaults to the slug.' }),
    subdomain: fields.subdomain,
    git_host_owner: z
      .string()
      .regex(gitOwnerPattern, 'must be the name of an account at the git host')
      .optional()
      .meta({ description: "Owner of the new repository; defaults to the installation's account." }),
    installation_id: installationId.optional(),
    repo_name: repoName.optional().meta({ description: 'Defaults to the slug.' }),
    repo_private: z.boolean().default(true),
  }),
  answer: BootstrapRun.extend({
    approval: GitDeviceCode.nullable().meta({
      description: 'Present while the run waits for your git account to be linked.',
    }),
  }),
};
export const getBootstrap = { params: runParams, answer: BootstrapRun };
export const cancelBootstrap = { params: runParams, answer: BootstrapRun.extend({ changed: unchanged }) };
export const forkApp = {
  params: tenantParams,
  body: z.strictObject({
    source: ref,
    slug: fields.slug,
    name: fields.name.optional(),
    subdomain: fields.subdomain,
    template: ref.optional().meta({ description: "Used instead of the source's code." }),
    git_host_owner: z.string().regex(gitOwnerPattern).optional(),
    installation_id: installationId.optional(),
    repo_name: repoName.optional(),
    repo_private: z.boolean().default(true),
  }),
  answer: BootstrapRun.extend({ approval: GitDeviceCode.nullable() }),
};
