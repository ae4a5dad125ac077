import { endpoint, who } from './endpoint.ts';
import type * as shapes from './git-host.shapes.ts';

/** How far the answer to a device code has come; `slow_down`: asked too soon, wait longer from now on. */
export const linkPollStatuses = ['pending', 'slow_down', 'linked'] as const;
/** What a repository is made of: which method runs it. */
export const detectedLanguages = [
  ...['javascript', 'typescript', 'python', 'go', 'ruby', 'php', 'rust', 'java', 'html', 'unknown'],
] as const;
/** Where the git host tells of pushes. */
export const gitWebhookPath = '/webhooks/git-host';
/** Where the git host sends people who have installed its app. */
export const gitSetupPath = '/git-host/setup';

const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
/** Nobody reaches another's account. */
const own = { authority: member, who: who('O:own C:own A:own M:own P:n N:n X:n') } as const;
const base = '/api/v1/tenants/{tenantID}/git-host';
const asksHost = ['git_account_required', 'git_host_unavailable'] as const;

export const listGitAccounts = endpoint<typeof shapes.listGitAccounts>()({
  id: 'gitHost.accounts',
  method: 'GET',
  path: `${base}/accounts`,
  summary: 'Your accounts at the git host that are linked here',
  kind: 'read',
  ...own,
  status: 200,
});

export const unlinkGitAccount = endpoint<typeof shapes.unlinkGitAccount>()({
  id: 'gitHost.unlink',
  method: 'DELETE',
  path: `${base}/accounts/{account}`,
  summary: 'Forget an account at the git host; apps that are connected stay so',
  kind: 'mutate',
  ...own,
  status: 204,
  errors: ['not_found'],
});

/** Asks the git host for a code; nothing is kept here before it is approved. */
export const startGitLink = endpoint<typeof shapes.startGitLink>()({
  id: 'gitHost.startLink',
  method: 'POST',
  path: `${base}/link`,
  summary: 'Begin to link your account at the git host: a code to be approved there',
  kind: 'mutate',
  ...own,
  status: 201,
  errors: ['git_host_unavailable'],
  perMinuteMax: 10,
});

/** Asks the git host once. A code counts for who began with it, in this tenant, and once. */
export const pollGitLink = endpoint<typeof shapes.pollGitLink>()({
  id: 'gitHost.pollLink',
  method: 'POST',
  path: `${base}/link/poll`,
  summary: 'Ask once whether the code was approved; then the account is linked, and runs that waited go on',
  kind: 'mutate',
  ...own,
  status: 200,
  errors: ['not_found', 'device_code_expired', 'access_denied', 'git_host_unavailable'],
  perMinuteMax: 60,
});

export const listGitInstallations = endpoint<typeof shapes.listGitInstallations>()({
  id: 'gitHost.installations',
  method: 'GET',
  path: `${base}/installations`,
  summary: 'Where the app of the git host is installed, as far as your account reaches',
  kind: 'read',
  ...own,
  status: 200,
  errors: asksHost,
});

export const listGitRepositories = endpoint<typeof shapes.listGitRepositories>()({
  id: 'gitHost.repositories',
  method: 'GET',
  path: `${base}/installations/{installation}/repositories`,
  summary: 'The repositories of an installation that your account reaches',
  kind: 'read',
  ...own,
  status: 200,
  errors: [...asksHost, 'not_found'],
});

export const completeGitConnection = endpoint<typeof shapes.completeGitConnection>()({
  id: 'gitHost.complete',
  method: 'POST',
  path: `${base}/complete`,
  summary: 'Finish a connection that was begun in a browser, by the state it was begun with',
  kind: 'mutate',
  ...own,
  status: 200,
  errors: [
    ...asksHost,
    ...(['not_found', 'installation_mismatch', 'installation_missing', 'already_connected'] as const),
    'app_not_active',
  ],
});

/** Reads the repository at the git host; nothing of it is run. */
export const detectRepository = endpoint<typeof shapes.detectRepository>()({
  id: 'gitHost.detect',
  method: 'GET',
  path: `${base}/detect`,
  summary: 'How a repository would be built and run, and by which files that is told',
  kind: 'read',
  ...own,
  status: 200,
  errors: [...asksHost, 'not_found'],
  perMinuteMax: 60,
});
