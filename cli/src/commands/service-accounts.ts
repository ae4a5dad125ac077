import {
  addTrustRule,
  createServiceAccount,
  createServiceToken,
  deleteServiceAccount,
  describeServiceAccountAction,
  getServiceAccount,
  listServiceAccounts,
  listServiceTokens,
  removeTrustRule,
  revokeServiceToken,
  serviceAccountActions,
  serviceTokenLifeDaysDefault,
  serviceTokenLifeDaysMax,
  updateServiceAccount,
} from '@svc/contract/service-accounts.ts';
import { defineCommand } from '../command.ts';
import type { Flags, Positional } from '../framework/declaration.ts';
import { appFlag, checkAnyField, flagFields, pageFlags } from '../inputs/common.ts';
import { serviceAccountView, serviceTokenView } from '../views/access.ts';

const accountPositional = {
  name: 'account',
  summary: 'Service account id or name',
} as const satisfies Positional;

const actionsFlag = {
  actions: {
    type: 'list',
    values: serviceAccountActions,
    summary: 'What it can do with the app: one or more, in any order',
  },
} as const satisfies Flags;

export const serviceAccountsList = defineCommand({
  words: 'service-accounts list',
  summary: 'List the service accounts of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listServiceAccounts,
  view: serviceAccountView,
  examples: { '--app pet-shop': 'List them with their actions' },
});

export const serviceAccountsGet = defineCommand({
  words: 'service-accounts get',
  summary: 'Show a service account and the issuers that it trusts',
  kind: 'read',
  positionals: [accountPositional],
  flags: appFlag,
  endpoint: getServiceAccount,
  view: serviceAccountView,
  examples: { 'ci --app pet-shop': 'By its name' },
});

export const serviceAccountsCreate = defineCommand({
  words: 'service-accounts create',
  summary: 'Create a service account, with which CI or another program acts for an app',
  description:
    `It can use this app only. ${serviceAccountActions.map((action) => `${action}: ${describeServiceAccountAction(action)}`).join(' ')} ` +
    'It belongs to the app, not to you: it stays when you leave, and ends with the app. Programs use it with a token (svc ' +
    'service-accounts tokens create) or, better, without any stored secret (svc service-accounts trust add).',
  kind: 'mutate',
  positionals: [{ name: 'name', summary: 'Name: 2 to 63 of a-z, 0-9 and -' }],
  flags: { ...appFlag, actions: { ...actionsFlag.actions, required: true } },
  endpoint: createServiceAccount,
  input: ({ positionals, flags }) => ({ body: { name: positionals.name, actions: flags.actions } }),
  view: serviceAccountView,
  examples: {
    'ci --app pet-shop --actions deploy': 'Preview one that only deploys',
    'ci --app pet-shop --actions tables,deploy --execute': 'Create one that migrates tables and deploys',
  },
});

export const serviceAccountsUpdate = defineCommand({
  words: 'service-accounts update',
  summary: 'Change the name or the actions of a service account; effective immediately',
  kind: 'mutate',
  positionals: [accountPositional],
  flags: { ...appFlag, name: { type: 'string', summary: 'New name' }, ...actionsFlag },
  check: ({ flags: { app: _, ...flags } }) => checkAnyField(flags),
  endpoint: updateServiceAccount,
  input: ({ flags }) => ({ body: flagFields(flags, 'name', 'actions') }),
  view: serviceAccountView,
  examples: { 'ci --app pet-shop --actions deploy --execute': 'Take other actions away from its tokens' },
});

export const serviceAccountsDelete = defineCommand({
  words: 'service-accounts delete',
  summary: 'Delete a service account; its tokens stop working immediately',
  kind: 'mutate',
  positionals: [accountPositional],
  flags: appFlag,
  endpoint: deleteServiceAccount,
  examples: { 'ci --app pet-shop --execute': 'Delete it' },
});

export const serviceTokensList = defineCommand({
  words: 'service-accounts tokens list',
  summary: 'List the tokens of a service account',
  kind: 'read',
  positionals: [accountPositional],
  flags: { ...appFlag, ...pageFlags },
  endpoint: listServiceTokens,
  view: serviceTokenView,
  examples: { 'ci --app pet-shop': 'List them, without their secrets' },
});

export const serviceTokensCreate = defineCommand({
  words: 'service-accounts tokens create',
  summary: 'Create a token of a service account',
  description:
    'The secret is printed once and not stored. Pass it to programs as SVC_TOKEN, never in code. CI services with OpenID ' +
    'tokens need none: svc service-accounts trust add.',
  kind: 'mutate',
  positionals: [accountPositional],
  flags: {
    ...appFlag,
    name: { type: 'string', required: true, summary: 'Name that describes its use' },
    'expires-in-days': {
      type: 'integer',
      min: 1,
      max: serviceTokenLifeDaysMax,
      summary: `Lifetime in days (${serviceTokenLifeDaysDefault})`,
    },
  },
  endpoint: createServiceToken,
  input: ({ flags }) => ({ body: { name: flags.name, expires_in_days: flags['expires-in-days'] } }),
  present: (ctx, token) => {
    ctx.note('The secret is shown only once. Store it safely.');
    return token;
  },
  view: { columns: [], fields: ['id', 'name', 'expires_at', 'secret'] },
  examples: {
    'ci --app pet-shop --name nightly': 'Preview what the token could do',
    'ci --app pet-shop --name nightly --expires-in-days 7 --execute --json': 'Create it, as JSON',
  },
});

export const serviceTokensRevoke = defineCommand({
  words: 'service-accounts tokens revoke',
  summary: 'Revoke a token of a service account; it stops working immediately',
  kind: 'mutate',
  positionals: [
    accountPositional,
    { name: 'token', summary: 'Token id, from svc service-accounts tokens list' },
  ],
  flags: appFlag,
  endpoint: revokeServiceToken,
  examples: { 'ci 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Revoke it' },
});

export const trustAdd = defineCommand({
  words: 'service-accounts trust add',
  summary: 'Let CI jobs use a service account by their OpenID tokens, without a secret',
  description:
    'The job sends its own token, and gets one of the service account for 15 minutes in return. In a job, set ' +
    'SVC_SERVICE_ACCOUNT=<tenant>/<app>/<name>; svc does the rest. Claims are patterns in which * matches any characters.',
  kind: 'mutate',
  positionals: [accountPositional],
  flags: {
    ...appFlag,
    github: {
      type: 'string',
      placeholder: 'owner/repo[@ref]',
      excludes: ['gitlab'],
      summary: 'A repository at GitHub; jobs of one branch or of every one',
    },
    gitlab: {
      type: 'string',
      placeholder: 'group/project[@ref]',
      summary: 'A project at GitLab; jobs of one branch or of every one',
    },
    issuer: {
      type: 'string',
      placeholder: 'url',
      summary: 'Another issuer, also of GitHub or GitLab on your own servers',
    },
    audience: { type: 'string', summary: 'Audience of the tokens (the URL of the server)' },
    claim: {
      type: 'string',
      repeated: true,
      placeholder: 'name=pattern',
      summary: 'A claim that the tokens must have',
    },
  },
  oneRequired: [['github', 'gitlab', 'issuer']],
  endpoint: addTrustRule,
  input: async ({ flags }) => {
    const { trustRule } = await import('../access/trust-rule.ts');
    return { body: trustRule(flags) };
  },
  view: serviceAccountView,
  examples: {
    'ci --app pet-shop --github acme/pet-shop@main': 'Preview: pushes to main of a repository at GitHub',
    'ci --app pet-shop --gitlab acme/web/pet-shop --issuer https://gitlab.acme.example --execute':
      'A project of your own GitLab',
    "ci --app pet-shop --issuer https://ci.acme.example --claim 'sub=pipeline:shop:*' --execute":
      'Another issuer, by a claim',
  },
});

export const trustRemove = defineCommand({
  words: 'service-accounts trust remove',
  summary: 'Remove a trust rule; tokens that were issued by it stop working immediately',
  kind: 'mutate',
  positionals: [accountPositional, { name: 'rule', summary: 'Rule id, from svc service-accounts get' }],
  flags: appFlag,
  endpoint: removeTrustRule,
  examples: { 'ci 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app pet-shop --execute': 'Remove it' },
});
