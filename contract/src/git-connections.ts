import { change, owners, ownersOrAdmin, read, remove, update } from './endpoint.ts';
import type * as shapes from './git-connections.shapes.ts';

export const hookStates = ['waiting', 'ok', 'failed'] as const;
export const pushOutcomes = [
  'deployed',
  'other_branch',
  'repeated',
  'not_active',
  'branch_deleted',
  'preview',
  'preview_removed',
  'preview_limit',
  'preview_no_host',
] as const;
export const connectStateMinutes = 15;

const git = '/api/v1/tenants/{tenantID}/apps/{app}/git';
const asksHost = ['git_account_required', 'git_host_unavailable'] as const;

export const getGitConnection = read<typeof shapes.getGitConnection>()({
  id: 'git.status',
  path: git,
  summary: "Get the app's connected repository and branch, with its latest push",
  ...ownersOrAdmin,
});

/** Checks access at the git host, in a preview too; the hook is created after the change. */
export const connectGit = change<typeof shapes.connectGit>()({
  id: 'git.connect',
  path: git,
  summary: 'Connect a repository; pushes to its branch then deploy the app',
  ...owners,
  errors: [
    ...asksHost,
    'app_not_active',
    'already_connected',
    'installation_missing',
    'installation_mismatch',
    'repo_exists',
  ],
  perMinuteMax: 60,
});

export const beginGitConnection = change<typeof shapes.beginGitConnection>()({
  id: 'git.begin',
  path: `${git}/begin`,
  summary: 'Start a connection that is completed in a browser',
  ...owners,
  errors: ['app_not_active', 'already_connected'],
});

export const updateGit = update<typeof shapes.updateGit>()({
  id: 'git.update',
  path: git,
  summary: 'Change the branch that is deployed',
  ...owners,
  errors: ['app_not_active', 'not_connected'],
});

export const disconnectGit = remove<typeof shapes.disconnectGit>()({
  id: 'git.disconnect',
  path: git,
  summary: 'Disconnect the repository; deployments and the repository remain',
  ...owners,
  status: 200,
});
