import { act, change, ownRecords, read, remove } from './endpoint.ts';
import type * as shapes from './git-host.shapes.ts';

export const linkPollStatuses = ['pending', 'slow_down', 'linked'] as const;
export const detectedLanguages = [
  'javascript',
  'typescript',
  'python',
  'go',
  'ruby',
  'php',
  'rust',
  'java',
  'html',
  'unknown',
] as const;
export const gitWebhookPath = '/webhooks/git-host';
export const gitSetupPath = '/git-host/setup';

const base = '/api/v1/tenants/{tenantID}/git-host';
const asksHost = ['git_account_required', 'git_host_unavailable'] as const;

export const listGitAccounts = read<typeof shapes.listGitAccounts>()({
  id: 'gitHost.accounts',
  path: `${base}/accounts`,
  summary: 'List your linked git accounts',
  ...ownRecords,
});

export const unlinkGitAccount = remove<typeof shapes.unlinkGitAccount>()({
  id: 'gitHost.unlink',
  path: `${base}/accounts/{account}`,
  summary: 'Unlink a git account; connected apps stay connected',
  ...ownRecords,
});

export const startGitLink = change<typeof shapes.startGitLink>()({
  id: 'gitHost.startLink',
  path: `${base}/link`,
  summary: 'Start to link your git account: returns a code to approve at the git host',
  ...ownRecords,
  errors: ['git_host_unavailable'],
  perMinuteMax: 10,
});

/** Polls the git host once. A code is valid once, for the user and the tenant that requested it. */
export const pollGitLink = act<typeof shapes.pollGitLink>()({
  id: 'gitHost.pollLink',
  path: `${base}/link/poll`,
  summary: 'Link the git account if its code has been approved; waiting runs resume',
  ...ownRecords,
  errors: ['not_found', 'device_code_expired', 'access_denied', 'git_host_unavailable'],
  perMinuteMax: 60,
});

export const listGitInstallations = read<typeof shapes.listGitInstallations>()({
  id: 'gitHost.installations',
  path: `${base}/installations`,
  summary: 'List the installations at the git host that your account can access',
  ...ownRecords,
  errors: asksHost,
});

export const listGitRepositories = read<typeof shapes.listGitRepositories>()({
  id: 'gitHost.repositories',
  path: `${base}/installations/{installation}/repositories`,
  summary: 'List the repositories of an installation that your account can access',
  ...ownRecords,
  errors: [...asksHost],
});

export const deleteGitRepository = remove<typeof shapes.deleteGitRepository>()({
  id: 'gitHost.deleteRepository',
  path: `${base}/repositories/{owner}/{name}`,
  summary: 'Delete a repository of the built-in git host that you created, or whose app you own',
  ...ownRecords,
  irreversible: true,
  errors: ['forbidden'],
});

export const completeGitConnection = act<typeof shapes.completeGitConnection>()({
  id: 'gitHost.complete',
  path: `${base}/complete`,
  summary: 'Complete a connection that was started in a browser',
  ...ownRecords,
  errors: [
    ...asksHost,
    'not_found',
    'installation_mismatch',
    'installation_missing',
    'already_connected',
    'app_not_active',
  ],
});

/** Reads the repository at the git host; nothing of it is executed. */
export const detectRepository = read<typeof shapes.detectRepository>()({
  id: 'gitHost.detect',
  path: `${base}/detect`,
  summary: "Detect a repository's build settings",
  ...ownRecords,
  errors: [...asksHost, 'not_found'],
  perMinuteMax: 60,
});
