import { listFactors, removeFactor, renameFactor } from '@svc/contract/factors.ts';
import {
  changePassword,
  createPat,
  listPats,
  listSessions,
  listSignIns,
  patLifeDaysDefault,
  patLifeDaysMax,
  revokePat,
  revokeSession,
} from '@svc/contract/identity.ts';
import { listNotifications, notificationIdsMax, readNotifications } from '@svc/contract/notifications.ts';
import { describePatAction, patActions } from '@svc/contract/pat-actions.ts';
import { defineCommand } from '../command.ts';
import { pageFlags } from '../inputs/common.ts';
import { patView } from '../views/access.ts';

export const notificationsList = defineCommand({
  words: 'notifications list',
  summary: 'List your notifications, newest first',
  kind: 'read',
  flags: {
    unread: { type: 'boolean', summary: 'Only unread notifications' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    'per-page': pageFlags['per-page'],
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Fetch all pages' },
  },
  endpoint: listNotifications,
  input: ({ flags }) => ({
    query: {
      unread: flags.unread ? ('true' as const) : undefined,
      cursor: flags.cursor,
      per_page: flags['per-page'],
    },
  }),
  view: { columns: ['id', 'created_at', 'kind', 'app_slug', 'title', 'read_at'] },
  examples: { '--unread': 'List unread notifications' },
});

export const notificationsRead = defineCommand({
  words: 'notifications read',
  summary: 'Mark notifications as read',
  kind: 'mutate',
  positionals: [
    {
      name: 'notifications',
      summary: `Ids, at most ${notificationIdsMax}`,
      optional: true,
      repeated: true,
    },
  ],
  flags: { all: { type: 'boolean', summary: 'All notifications so far' } },
  oneRequired: [['notifications', 'all']],
  check: ({ flags, positionals }) =>
    flags.all && positionals.notifications.length > 0 ? '--all and ids cannot be combined.' : undefined,
  endpoint: readNotifications,
  input: ({ flags, positionals }) => ({
    body: flags.all ? { all: true as const } : { ids: positionals.notifications },
  }),
  examples: {
    '--all --execute': 'Mark all as read',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'Preview it',
  },
});

export const accountPassword = defineCommand({
  words: 'account password',
  summary: 'Change your password; your other sessions end',
  description:
    'Asks for the passwords on a terminal. The new one needs at least 12 characters and must not be easy to guess.',
  kind: 'mutate',
  flags: {
    'password-stdin': {
      type: 'boolean',
      summary: 'Read two lines from standard input: the current password and the new one',
    },
  },
  endpoint: changePassword,
  input: async ({ flags, ctx }) => {
    const { readPasswordChange } = await import('../account/password.ts');
    return { body: await readPasswordChange(ctx, { fromStdin: flags['password-stdin'] === true }) };
  },
  present: (ctx, answer) => {
    ctx.note('Your other sessions have ended.');
    return answer;
  },
  examples: {
    '--execute': 'Change it',
    '--password-stdin --execute': 'Change it from a script',
  },
});

export const accountSignIns = defineCommand({
  words: 'account sign-ins',
  summary: 'List your sign-ins, failed attempts, approved devices and new tokens',
  kind: 'read',
  flags: pageFlags,
  endpoint: listSignIns,
  view: { columns: ['at', 'event', 'method', 'address', 'device', 'name'] },
  examples: { '': 'See who signed in as you, and from where' },
});

export const accountFactorsList = defineCommand({
  words: 'account factors list',
  summary: 'List your passkeys and your authenticator app',
  description: 'Add them in the console: Account, Security.',
  kind: 'read',
  endpoint: listFactors,
  view: { columns: ['id', 'kind', 'name', 'created_at', 'last_used_at'] },
  examples: { '': 'See which second factors sign you in' },
});

const factorPositional = { name: 'factor', summary: 'Id, from svc account factors list' } as const;

export const accountFactorsRename = defineCommand({
  words: 'account factors rename',
  summary: 'Rename a passkey or your authenticator app',
  kind: 'mutate',
  positionals: [factorPositional],
  flags: { name: { type: 'string', required: true, summary: 'New name' } },
  endpoint: renameFactor,
  input: ({ flags, positionals }) => ({
    params: { factorID: positionals.factor },
    body: { name: flags.name },
  }),
  examples: { "0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --name 'Key at work' --execute": 'Rename it' },
});

export const accountFactorsRemove = defineCommand({
  words: 'account factors remove',
  summary: 'Remove a passkey or your authenticator app',
  description:
    'Asks for your password on a terminal. With the last factor, the recovery codes are removed too.',
  kind: 'mutate',
  positionals: [factorPositional],
  flags: {
    'password-stdin': { type: 'boolean', summary: 'Read your password from standard input' },
  },
  endpoint: removeFactor,
  input: async ({ flags, positionals, ctx }) => {
    const { readPassword } = await import('../account/password.ts');
    const password = await readPassword(ctx, { fromStdin: flags['password-stdin'] === true });
    return { params: { factorID: positionals.factor }, body: { password } };
  },
  examples: {
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Remove a lost key',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --password-stdin --execute': 'Remove it from a script',
  },
});

export const sessionsList = defineCommand({
  words: 'sessions list',
  summary: 'List your sessions: browsers and command-line logins',
  kind: 'read',
  flags: pageFlags,
  endpoint: listSessions,
  view: { columns: ['id', 'kind', 'client', 'device', 'address', 'created_at', 'expires_at', 'current'] },
  examples: { '': 'List where you are signed in' },
});

export const sessionsRevoke = defineCommand({
  words: 'sessions revoke',
  summary: 'End one of your sessions; its tokens stop working at once',
  kind: 'mutate',
  positionals: [{ name: 'session', summary: 'Session id, from svc sessions list' }],
  endpoint: revokeSession,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Sign out a lost laptop' },
});

export const patsList = defineCommand({
  words: 'pats list',
  summary: 'List your personal access tokens',
  kind: 'read',
  flags: {
    everyone: { type: 'boolean', summary: 'Tokens of all users; tenant admins only' },
    ...pageFlags,
  },
  endpoint: listPats,
  input: ({ flags }) => ({ query: { all: flags.everyone ? ('true' as const) : undefined } }),
  view: patView,
  examples: { '': 'List your tokens without their secrets' },
});

export const patsCreate = defineCommand({
  words: 'pats create',
  summary: 'Create a personal access token',
  description:
    'A token can do only what its actions allow, and never more than you. ' +
    `${patActions.map((action) => `${action}: ${describePatAction(action)}`).join(' ')} ` +
    'The secret is printed once and not stored. Pass it to programs as SVC_API_KEY, or to git as the password, never ' +
    'in code.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Name that describes its use' },
    actions: {
      type: 'list',
      values: patActions,
      summary: 'What the token can do: one or more, in any order (read)',
    },
    app: {
      type: 'list',
      placeholder: 'app',
      summary: 'Only these apps, by id or slug (all your apps)',
    },
    'expires-in-days': {
      type: 'integer',
      min: 1,
      max: patLifeDaysMax,
      summary: `Lifetime in days (${patLifeDaysDefault})`,
    },
  },
  endpoint: createPat,
  input: ({ flags }) => ({
    body: {
      name: flags.name,
      actions: flags.actions,
      apps: flags.app,
      expires_in_days: flags['expires-in-days'],
    },
  }),
  present: (ctx, pat) => {
    ctx.note('The secret is shown only once. Store it safely.');
    return pat;
  },
  view: { columns: [], fields: ['id', 'name', 'actions', 'allows', 'apps', 'expires_at', 'secret'] },
  examples: {
    '--name ci --actions deploy --app shop': 'Preview a token that deploys one app',
    '--name laptop --actions code --execute': 'A token for git',
    '--name import --actions read,write --app shop --execute': 'A token for the rows of one app',
    '--name report --expires-in-days 7 --execute --json': 'A short-lived token, as JSON',
  },
});

export const patsRevoke = defineCommand({
  words: 'pats revoke',
  summary: 'Revoke a personal access token',
  kind: 'mutate',
  positionals: [{ name: 'pat', summary: 'Token id, from svc pats list' }],
  endpoint: revokePat,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Revoke it' },
});
