import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { deploymentStates } from './deployments.ts';
import { hookStates, pushOutcomes } from './git-connections.ts';
import { gitRepoPattern, isGitRef } from './git-names.ts';
import { timestamp, unchanged, uuid } from './shapes.ts';

const repo = z.string().regex(gitRepoPattern, 'must be owner/name, as the git host has them');
const branch = z.string().refine(isGitRef, 'must be the name of a branch');
const installationId = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const GitPush = z.object({
  delivery_id: z.string(),
  branch: z.string(),
  commit: z.string(),
  outcome: z.enum(pushOutcomes),
  deployment_id: uuid.nullable(),
  deployment: z
    .object({ id: uuid, seq: z.int(), state: z.enum(deploymentStates) })
    .nullable()
    .meta({ description: 'As it is now.' }),
  summary: z.string().meta({ description: 'What became of the push, as git push prints it.' }),
  received_at: timestamp,
});

export const GitConnection = z.object({
  app_id: uuid,
  repo: z.string(),
  repo_id: z.int(),
  branch: z.string(),
  private: z.boolean(),
  installation_id: z.int(),
  web_url: z.string(),
  clone_url: z.string(),
  hook: z.object({ state: z.enum(hookStates), detail: z.string() }),
  connected_by: uuid,
  connected_at: timestamp,
});

export const GitStatus = z.object({
  connected: z.boolean(),
  push_url: z.string().nullable().meta({
    description: 'Where to push. If no repository is connected, the first push creates and connects it.',
  }),
  connection: GitConnection.nullable(),
  last_push: GitPush.nullable(),
});

export const getGitConnection = { params: appParams, answer: GitStatus };
export const connectGit = {
  params: appParams,
  body: z.strictObject({
    repo: repo.optional().meta({
      description: 'Required, except with create at the built-in git host: by default named as the app.',
    }),
    branch: branch.default('main'),
    create: z.boolean().default(false).meta({
      description: 'Create the repository, private and empty, if it does not exist.',
    }),
    installation_id: installationId.optional().meta({
      description: 'Must belong to the owner of the repository; looked up when absent.',
    }),
  }),
  answer: GitConnection.extend({ changed: unchanged }),
};
export const beginGitConnection = {
  params: appParams,
  body: z.strictObject({ repo: repo.optional(), branch: branch.default('main') }),
  answer: z.object({ state: z.string(), install_url: z.string(), expires_at: timestamp }),
};
export const updateGit = {
  params: appParams,
  body: z.strictObject({ branch }),
  answer: GitConnection.extend({ changed: unchanged }),
};
export const disconnectGit = {
  params: appParams,
  answer: z.object({ connected: z.literal(false), repo: z.string().nullable(), changed: unchanged }),
};
