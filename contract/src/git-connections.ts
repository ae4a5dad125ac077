import { endpoint, who } from './endpoint.ts';
import type * as shapes from './git-connections.shapes.ts';

export const hookStates = ['waiting', 'ok', 'failed'] as const;
/** What became of a push that the git host told of. */
export const pushOutcomes = ['deployed', 'other_branch', 'repeated', 'not_active', 'branch_deleted'] as const;
/** A connection that is begun in a browser is finished by then. */
export const connectStateMinutes = 15;

const owners = { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners' } as const;
const ownersOnly = { authority: owners, who: who('O:y C:y A:n M:n P:n N:n X:n') } as const;
const governed = {
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
const git = '/api/v1/tenants/{tenantID}/apps/{app}/git';
const asksHost = ['not_found', 'git_account_required', 'git_host_unavailable'] as const;

export const getGitConnection = endpoint<typeof shapes.getGitConnection>()({
  id: 'git.status',
  method: 'GET',
  path: git,
  summary: 'Which repository and branch the app is deployed from, and what of it came last',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

/** Asks the git host who may, in a preview too; the hook there is made after the change. */
export const connectGit = endpoint<typeof shapes.connectGit>()({
  id: 'git.connect',
  method: 'POST',
  path: git,
  summary: 'Connect a repository: from now on a push to its branch deploys the app',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: [
    ...asksHost,
    ...(['app_not_active', 'already_connected', 'installation_missing', 'installation_mismatch'] as const),
  ],
  perMinuteMax: 60,
});

/** For where the app of the git host has to be installed first, by a person in a browser. */
export const beginGitConnection = endpoint<typeof shapes.beginGitConnection>()({
  id: 'git.begin',
  method: 'POST',
  path: `${git}/begin`,
  summary: 'Begin a connection that a person goes on with in a browser',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: ['not_found', 'app_not_active', 'already_connected'],
});

export const updateGit = endpoint<typeof shapes.updateGit>()({
  id: 'git.update',
  method: 'PATCH',
  path: git,
  summary: 'Deploy from another branch from now on',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active', 'not_connected'],
});

export const disconnectGit = endpoint<typeof shapes.disconnectGit>()({
  id: 'git.disconnect',
  method: 'DELETE',
  path: git,
  summary: 'Disconnect the repository; what is deployed stays, and the repository too',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found'],
});
