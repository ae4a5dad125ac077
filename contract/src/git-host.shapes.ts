import { z } from 'zod';
import { deployMethods } from './apps.ts';
import { GitConnection } from './git-connections.shapes.ts';
import { detectedLanguages, linkPollStatuses } from './git-host.ts';
import {
  gitCommitPattern,
  gitOwnerPattern,
  gitRepoNamePattern,
  gitRepoPattern,
  isGitRef,
} from './git-names.ts';
import { manifestPathPattern } from './manifest.ts';
import { empty, page, pageQuery, tenantParams, text, timestamp, uuid, wholeNumber } from './shapes.ts';

export const gitRepo = z
  .string()
  .regex(gitRepoPattern, 'must be owner/name, as the git host has them')
  .meta({ description: 'A repository: owner/name.' });
export const gitRef = z
  .string()
  .refine((value) => isGitRef(value) || gitCommitPattern.test(value), 'must be a branch, a tag or a commit');
export const gitBranch = z.string().refine(isGitRef, 'must be the name of a branch');
export const installationId = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

export const GitAccount = z.object({
  id: uuid,
  login: z.string(),
  kind: z.enum(['user', 'organization']),
  host: z.string().meta({ description: 'URL of the git host.' }),
  linked_at: timestamp,
});

export const GitDeviceCode = z.object({
  device_code: z.string().meta({ description: 'A secret to poll with; it works for your account only.' }),
  user_code: z.string(),
  verification_uri: z.string(),
  expires_at: timestamp,
  interval_seconds: z.int().meta({ description: 'Minimum polling interval.' }),
});

export const GitLinkPoll = z.object({
  status: z.enum(linkPollStatuses),
  interval_seconds: z.int(),
  next_poll_at: timestamp.meta({ description: 'Earliest time of the next poll.' }),
  account: GitAccount.nullable(),
});

export const GitInstallation = z.object({
  id: z.int(),
  account: z.string(),
  account_kind: z.enum(['user', 'organization']),
  repositories: z.enum(['all', 'selected']),
});

export const GitRepository = z.object({
  id: z.int(),
  full_name: z.string(),
  private: z.boolean(),
  default_branch: z.string(),
  can_push: z.boolean(),
  web_url: z.string(),
});

export const DetectedPlan = z.object({
  deploy_method: z.enum(deployMethods),
  language: z.enum(detectedLanguages),
  framework: z.string().nullable(),
  install_command: z.string().nullable(),
  build_command: z.string().nullable(),
  release_command: z
    .string()
    .nullable()
    .meta({ description: 'Runs after the build, before the new version goes live.' }),
  start_command: z.string().nullable(),
  output_dir: z.string().nullable().meta({ description: 'With `static`: the folder that is served.' }),
  dockerfile: z.string().nullable(),
  compose_file: z.string().nullable(),
  dir: z.string().nullable().meta({ description: 'In a workspace: the folder of the app.' }),
});

export const Detection = DetectedPlan.extend({
  repo: z.string(),
  ref: z.string(),
  commit: z.string(),
  path: z.string(),
  package_manager: z.string().nullable(),
  evidence: z.array(z.object({ file: z.string(), says: z.string() })),
  alternatives: z.array(DetectedPlan),
});

export const listGitAccounts = { params: tenantParams, query: pageQuery, answer: page(GitAccount) };
export const unlinkGitAccount = { params: tenantParams.extend({ account: uuid }), answer: empty };
export const startGitLink = { params: tenantParams, answer: GitDeviceCode };
export const pollGitLink = {
  params: tenantParams,
  body: z.strictObject({ device_code: text.min(1).max(4_000) }),
  answer: GitLinkPoll,
};
export const listGitInstallations = { params: tenantParams, query: pageQuery, answer: page(GitInstallation) };
export const listGitRepositories = {
  params: tenantParams.extend({ installation: wholeNumber(1, 999_999_999) }),
  query: pageQuery,
  answer: page(GitRepository),
};
export const deleteGitRepository = {
  params: tenantParams.extend({
    owner: text.regex(gitOwnerPattern),
    name: text.regex(gitRepoNamePattern),
  }),
  answer: empty,
};
export const completeGitConnection = {
  params: tenantParams,
  body: z.strictObject({
    state: text.min(1).max(2_000),
    installation_id: installationId.optional(),
    repo: gitRepo
      .optional()
      .meta({ description: 'Required if it was not set when the connection was started.' }),
    branch: gitBranch.optional(),
  }),
  answer: GitConnection,
};
export const detectRepository = {
  params: tenantParams,
  query: z.strictObject({
    repo: gitRepo,
    ref: gitRef.optional(),
    path: z.string().regex(manifestPathPattern, 'must be a path inside the repository').optional(),
  }),
  answer: Detection,
};
