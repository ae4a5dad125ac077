import {
  checkAccess,
  createGrant,
  getGrant,
  grantStatuses,
  listGrants,
  listMyGrants,
  listMyTables,
  replaceGrantScope,
  revokeGrant,
  scopeEntriesMax,
} from '@svc/contract/grants.ts';
import { defineCommand } from '../command.ts';
import { pageFlags } from '../inputs/common.ts';
import { policyFlagSummary } from '../inputs/policy.ts';
import { grantedTableView, grantView, myGrantView } from '../views/access.ts';

export const grantsMine = defineCommand({
  words: 'grants mine',
  summary: 'List your own active grants, newest first',
  kind: 'read',
  endpoint: listMyGrants,
  present: async (ctx, answer) => (await import('../access/names.ts')).nameGrants(ctx, answer, 'mine'),
  view: myGrantView,
  examples: { '--json': 'List what you may use, as JSON' },
});

export const grantsTables = defineCommand({
  words: 'grants tables',
  summary: 'List the tables that your grants open, with what you may do and what is masked',
  kind: 'read',
  flags: {
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only tables of this connector, by id or slug',
    },
    ...pageFlags,
  },
  endpoint: listMyTables,
  input: ({ flags }) => ({ query: { connector: flags.connector } }),
  view: grantedTableView,
  examples: {
    '--all': 'List every table that your grants open',
    '--connector warehouse --json': 'List the tables of one connector with their columns, as JSON',
  },
});

export const grantsList = defineCommand({
  words: 'grants list',
  summary: "List the tenant's grants, newest first",
  kind: 'read',
  flags: {
    status: { type: 'enum', values: grantStatuses, summary: 'Only grants with this status' },
    subject: {
      type: 'string',
      placeholder: 'user',
      summary: 'Only grants of this user, by id or e-mail address',
      excludes: ['group'],
    },
    group: { type: 'string', placeholder: 'group', summary: 'Only grants of this group, by id or name' },
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only grants on this connector, by id or slug',
    },
    policy: {
      type: 'string',
      placeholder: 'policy',
      summary: 'Only grants with this access policy, by id or name',
    },
    ...pageFlags,
  },
  endpoint: listGrants,
  input: ({ flags }) => ({
    query: {
      status: flags.status,
      subject_id: flags.subject ?? flags.group,
      connector_id: flags.connector,
      policy_id: flags.policy,
    },
  }),
  present: async (ctx, answer) => (await import('../access/names.ts')).nameGrants(ctx, answer, 'all'),
  view: grantView,
  examples: {
    '--status active --all': 'List every active grant',
    '--connector warehouse --json': 'List who may use a connector',
  },
});

export const grantsGet = defineCommand({
  words: 'grants get',
  summary: 'Show one grant',
  kind: 'read',
  positionals: [{ name: 'grant', summary: 'Grant id' }],
  endpoint: getGrant,
  present: async (ctx, answer) => (await import('../access/names.ts')).nameGrants(ctx, answer, 'all'),
  view: grantView,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'Show one grant with all its fields' },
});

export const grantsCreate = defineCommand({
  words: 'grants create',
  summary: 'Allow a user, a group, an app or a service account to use a connector',
  description:
    'Without --scope the grant covers the whole connector. --expires-in counts from the time the command runs, so use ' +
    '--expires-at with --plan.',
  kind: 'mutate',
  flags: {
    subject: {
      type: 'string',
      placeholder: 'user',
      summary: 'User id or e-mail address',
      excludes: ['group'],
    },
    group: {
      type: 'string',
      placeholder: 'group',
      summary: 'Group id or name: its members have the access while they are in it',
    },
    app: {
      type: 'string',
      placeholder: 'app',
      summary: "App id or slug: the app's own identity has the access, not its visitors",
      excludes: ['subject', 'group'],
    },
    'service-account': {
      type: 'string',
      placeholder: 'account',
      summary: 'Service account, by id or as app/name',
      excludes: ['subject', 'group', 'app'],
    },
    connector: { type: 'string', required: true, placeholder: 'connector', summary: 'Connector id or slug' },
    preset: {
      type: 'string',
      required: true,
      placeholder: 'preset',
      summary: 'reader, writer, admin or a preset of the tenant',
    },
    policy: { type: 'list', placeholder: 'policy', summary: policyFlagSummary },
    scope: {
      type: 'list',
      placeholder: 'path',
      summary: `schema or schema/table, at most ${scopeEntriesMax}`,
    },
    reason: { type: 'string', summary: 'Reason, stored in the audit log' },
    'expires-at': { type: 'time', summary: 'Expiry time, RFC 3339', excludes: ['expires-in'] },
    'expires-in': { type: 'duration', min: '1s', summary: 'Lifetime, such as 12h or 30d' },
  },
  oneRequired: [['subject', 'group', 'app', 'service-account']],
  endpoint: createGrant,
  input: ({ flags, now }) => ({
    body: {
      ...grantSubject(flags),
      connector_id: flags.connector,
      preset_id: flags.preset,
      policy_ids: flags.policy,
      scope_resource_paths: flags.scope,
      reason: flags.reason,
      expires_at: flags['expires-in'] === undefined ? flags['expires-at'] : after(now, flags['expires-in']),
    },
  }),
  view: grantView,
  examples: {
    '--subject ada@example.com --connector warehouse --preset reader --scope sales,hr/people':
      'Preview a grant on one schema and one table',
    '--subject ada@example.com --connector warehouse --preset reader --expires-in 30d --execute':
      'Grant access for 30 days',
    "--subject ada@example.com --connector warehouse --preset reader --policy 'own region' --execute":
      'Grant access to the rows that a policy leaves',
    '--group engineers --connector warehouse --preset reader --execute': 'Grant access to a group',
  },
});

function grantSubject(flags: {
  subject?: string | undefined;
  group?: string | undefined;
  app?: string | undefined;
  'service-account'?: string | undefined;
}) {
  if (flags.group !== undefined) return { subject_id: flags.group, subject_kind: 'group' as const };
  if (flags.app !== undefined) return { subject_id: flags.app, subject_kind: 'app' as const };
  const account = flags['service-account'];
  if (account !== undefined) return { subject_id: account, subject_kind: 'service_account' as const };
  return { subject_id: flags.subject ?? '', subject_kind: 'user' as const };
}

function after(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}

export const grantsRevoke = defineCommand({
  words: 'grants revoke',
  summary: 'Permanently revoke a grant',
  kind: 'mutate',
  positionals: [{ name: 'grant', summary: 'Grant id' }],
  flags: { reason: { type: 'string', summary: 'Reason, stored in the audit log' } },
  endpoint: revokeGrant,
  input: ({ flags }) => ({ body: flags.reason === undefined ? undefined : { reason: flags.reason } }),
  examples: {
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c': 'Preview it',
    "0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --reason 'left the team' --execute": 'Revoke it',
  },
});

export const grantsScopeSet = defineCommand({
  words: 'grants scope set',
  summary: 'Replace the scope of a grant',
  kind: 'mutate',
  positionals: [
    { name: 'grant', summary: 'Grant id' },
    {
      name: 'paths',
      summary: `New scope: schema or schema/table, at most ${scopeEntriesMax}`,
      optional: true,
      repeated: true,
    },
  ],
  flags: { clear: { type: 'boolean', summary: 'Cover the whole connector again' } },
  oneRequired: [['paths', 'clear']],
  check: ({ flags, positionals }) =>
    flags.clear && positionals.paths.length > 0 ? '--clear and paths cannot be combined.' : undefined,
  endpoint: replaceGrantScope,
  input: ({ positionals }) => ({ body: positionals.paths }),
  examples: {
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c sales hr/people --execute': 'One schema and one table only',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --clear': 'Preview a scope of the whole connector',
  },
});

export const accessCheck = defineCommand({
  words: 'access check',
  summary: 'Check whether a user, an app or a service account may do something, and by which grants',
  kind: 'read',
  flags: {
    subject: { type: 'string', placeholder: 'user', summary: 'User id or e-mail address' },
    app: {
      type: 'string',
      placeholder: 'app',
      summary: "App id or slug: the app's own identity",
      excludes: ['subject'],
    },
    'service-account': {
      type: 'string',
      placeholder: 'account',
      summary: 'Service account, by id or as app/name',
      excludes: ['subject', 'app'],
    },
    connector: { type: 'string', required: true, placeholder: 'connector', summary: 'Connector id or slug' },
    action: { type: 'string', required: true, placeholder: 'action', summary: 'Such as read or write' },
    'resource-path': {
      type: 'string',
      placeholder: 'path',
      summary: 'schema or schema/table (the whole connector)',
    },
  },
  oneRequired: [['subject', 'app', 'service-account']],
  endpoint: checkAccess,
  input: ({ flags }) => ({
    body: {
      ...checkedSubject(flags),
      connector_id: flags.connector,
      action: flags.action,
      resource_path: flags['resource-path'],
    },
  }),
  examples: {
    '--subject ada@example.com --connector warehouse --action read --resource-path hr/people':
      'Check whether Ada may read this table',
    '--service-account lunch/ci --connector warehouse --action read': 'Check a service account',
  },
});

function checkedSubject(flags: {
  subject?: string | undefined;
  app?: string | undefined;
  'service-account'?: string | undefined;
}) {
  if (flags.app !== undefined) return { subject_id: flags.app, subject_kind: 'app' as const };
  const account = flags['service-account'];
  if (account !== undefined) return { subject_id: account, subject_kind: 'service_account' as const };
  return { subject_id: flags.subject ?? '' };
}
