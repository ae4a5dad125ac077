import {
  completeGitConnection,
  deleteGitRepository,
  listGitAccounts,
  listGitInstallations,
  listGitRepositories,
  pollGitLink,
  startGitLink,
  unlinkGitAccount,
} from '@svc/contract/git-host.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { defineCommand, describeCall } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { approvalFlags, checkApprovalFlags, installationFlag, resumeOptions } from '../git-host/flags.ts';
import { flagFields, pageFlags } from '../inputs/common.ts';
import { connectionView, gitAccountView, installationView, repositoryView } from '../views/delivery.ts';

export const gitHostAccountsList = defineCommand({
  words: 'git-host accounts list',
  summary: 'List your linked accounts at the git host',
  description: 'The built-in git host needs no linked account, so the list may be empty.',
  kind: 'read',
  endpoint: listGitAccounts,
  input: () => ({ query: { per_page: perPageMax } }),
  view: gitAccountView,
  examples: { '': 'List your accounts' },
});

export const gitHostAccountsUnlink = defineCommand({
  words: 'git-host accounts unlink',
  summary: 'Unlink an account at the git host; connected apps stay connected',
  kind: 'mutate',
  positionals: [{ name: 'account', summary: 'Id of the account, from list' }],
  endpoint: unlinkGitAccount,
  examples: { '01977777-7777-7777-8777-777777777777 --execute': 'Unlink it and delete its tokens' },
});

export const gitHostInstallationsList = defineCommand({
  words: 'git-host installations list',
  summary: 'List the installations of the git host app that your account can access',
  kind: 'read',
  flags: pageFlags,
  endpoint: listGitInstallations,
  view: installationView,
  examples: { '': 'List installations and their repositories' },
});

export const gitHostInstallationsRepos = defineCommand({
  words: 'git-host installations repos',
  summary: 'List the repositories of an installation that your account can access',
  description: '--installation-id is optional if there is only one installation.',
  kind: 'read',
  flags: { ...installationFlag, ...pageFlags },
  endpoint: listGitRepositories,
  input: async ({ ctx, tenant, flags }) => ({
    params: { installation: flags['installation-id'] ?? (await onlyInstallation(ctx, tenant)) },
  }),
  view: repositoryView,
  examples: {
    '': 'List repositories that can be connected',
    '--installation-id 42 --per-page 100': 'For one installation',
  },
});

export const gitHostReposDelete = defineCommand({
  words: 'git-host repos delete',
  summary: 'Delete a repository of the built-in git host',
  description:
    'Allowed for its creator and for owners of a connected app. Commits and branches are lost; live apps are not ' +
    'affected. Repositories of other git hosts are deleted there.',
  kind: 'mutate',
  positionals: [{ name: 'repository', summary: 'Repository, as owner/name' }],
  check: ({ positionals }) =>
    /^[^/]+\/[^/]+$/.test(positionals.repository)
      ? undefined
      : '<repository> is owner/name, such as demo/shop.',
  endpoint: deleteGitRepository,
  input: ({ positionals }) => {
    const [owner = '', name = ''] = positionals.repository.split('/');
    return { params: { owner, name } };
  },
  examples: {
    'demo/old-shop': 'Preview it',
    'demo/old-shop --execute': 'Delete it; on a terminal the command asks first',
  },
});

async function onlyInstallation(ctx: Ctx, tenantID: string): Promise<number> {
  const input = { params: { tenantID }, query: {} };
  const { items } = await (await ctx.client()).call(listGitInstallations, input);
  const [only, another] = items;
  if (only !== undefined && another === undefined) return only.id;
  const found = items.map(({ id, account }) => `${id} (${sanitize(account)})`).join(', ');
  throw usageError(
    found === '' ? 'Your account has no installation.' : `There are several installations: ${found}.`,
    found === '' ? 'Install the git host app first.' : 'Choose one with --installation-id.',
  );
}

export const gitHostLink = defineCommand({
  words: 'git-host link',
  summary: 'Link your git host account with a code that you approve there',
  description:
    'Prints a URL and a code. On a terminal the command waits until the code is approved. Elsewhere it stores the ' +
    'code and exits with 11; --resume-last then checks once whether it was approved (0, or 11 if not), and with ' +
    '--wait-approval waits for that long (exit 10). An expired code exits with 6, a denied code with 4. --json prints ' +
    'the device code, which is a secret, for --device-code.',
  kind: 'act',
  timeoutDefault: '20m',
  calls: `${describeCall(startGitLink)}, then ${describeCall(pollGitLink)}`,
  flags: approvalFlags,
  check: ({ flags }) => checkApprovalFlags(flags),
  run: async (ctx, { flags }) => {
    const { linkAccount } = await import('../git-host/connect-app.ts');
    return linkAccount(ctx, { resume: resumeOptions(flags) });
  },
  output: async () => (await import('../output/schemas.ts')).linkSchema,
  examples: {
    '': 'Get a code, and wait on a terminal',
    '--resume-last --wait-approval 5m': 'Wait for the previous code',
  },
});

export const gitHostComplete = defineCommand({
  words: 'git-host complete',
  summary: 'Finish a connection that svc apps git connect started in a browser',
  description: 'A state works once, for the person who started, and for 15 minutes. There is no preview.',
  kind: 'act',
  calls: describeCall(completeGitConnection),
  flags: {
    state: { type: 'string', placeholder: 'state', required: true, summary: 'State of the connection' },
    ...installationFlag,
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      summary: 'Repository, if it was not named at the start',
    },
    branch: { type: 'string', summary: 'Branch, instead of the one named at the start' },
    // Existing web pages and scripts still pass `--execute`; the command accepts and ignores the flag.
    execute: {
      type: 'boolean',
      hidden: true,
      retired: 'the command has no preview.',
      summary: 'Ignored',
    },
  },
  run: async (ctx, { flags }) => {
    const { resolveTenant } = await import('../session/tenant.ts');
    const input = {
      params: { tenantID: await resolveTenant(ctx) },
      body: flagFields(flags, 'state', 'installation-id', 'repo', 'branch'),
    };
    const options = { idempotencyKey: crypto.randomUUID() };
    return { value: await (await ctx.client()).call(completeGitConnection, input, options) };
  },
  output: async () => (await import('@svc/contract/git-host.shapes.ts')).completeGitConnection.answer,
  view: connectionView,
  examples: {
    '--state a1b2c3': 'Finish the connection',
    '--state a1b2c3 --installation-id 42 --repo acme/shop --branch main': 'Finish it with another repository',
  },
});
