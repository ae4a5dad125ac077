import type { Command } from './command.ts';
import type { Group, Program } from './framework/program.ts';
import { globalFlags } from './global-flags.ts';

/** A file below `commands/`, the group, and the commands of the group that the file declares, in the order of the help. */
const files = [
  ['login', '', 'login logout whoami'],
  ['tenants', 'tenants', 'list get update use'],
  ['tenants', 'members', 'list set remove'],
  ['account', 'notifications', 'list read'],
  ['account', 'sessions', 'list revoke'],
  ['account', 'pats', 'list create revoke'],
  ['apps/lists', 'apps', 'list get mine owned received workspace discover search check-availability'],
  ['apps/record', 'apps', 'create update openapi'],
  ['apps/lifecycle', 'apps', 'archive reactivate suspend resume delete restore purge'],
  ['apps/record', 'apps', 'sign-icon-upload'],
  ['apps/owners', 'apps co-owners', 'list add remove'],
  ['apps/owners', 'apps ownership', 'transfer'],
  ['apps/owners', 'apps members', 'list add remove'],
  ['apps/inspection', 'apps', 'inspect'],
  ['apps/inspection', 'apps inspection-consent', 'get set ledger'],
  ['apps/storage', 'apps storage', 'status enable ls get-url put cp rm'],
  ['apps/raw-db', 'apps raw-db', 'enable rotate disable status'],
  ['apps/domains', 'apps domains', 'list add remove verify'],
  ['apps/static', 'apps static', 'deploy'],
  ['apps/static', 'apps static auth', 'start'],
  [
    'apps/releases',
    'apps static releases',
    'list get files diff create finalize stage activate revoke rollback',
  ],
  ['apps/releases', 'apps static releases', 'promote-request promote-approve promote-reject'],
  ['apps/static', 'apps static site', 'get set unpublish'],
  ['apps/static', 'apps static site staging', 'enable disable'],
  ['apps/record', 'apps', 'resource-presets'],
  ['deployments', '', 'deploy'],
  ['deployments', 'deployments', 'list get logs rollback cancel'],
  ['review', '', 'publish'],
  ['review', 'review', 'list get history approve reject withdraw'],
  ['deployments', '', 'logs'],
  ['env', 'env', 'list set unset'],
  ['apps/bootstrap', 'apps templates', 'list add remove'],
  ['apps/bootstrap', 'apps', 'bootstrap bootstrap-status bootstrap-cancel fork'],
  ['apps/git', 'apps', 'detect'],
  ['apps/git', 'apps git', 'connect disconnect status update'],
  ['git-host', 'git-host accounts', 'list unlink'],
  ['git-host', 'git-host installations', 'list repos'],
  ['git-host', 'git-host', 'link complete'],
  ['categories', 'categories', 'list get create update delete'],
  ['tables', 'tables', 'list get create update rename drop types'],
  ['columns', 'tables columns', 'add rename update drop'],
  ['columns', 'tables indexes', 'list add drop'],
  ['tables', 'tables grants', 'list issue revoke'],
  ['rows', 'rows', 'list get insert update delete count'],
  ['rows-transfer', 'rows', 'import export'],
  ['connectors', 'connectors', 'list get create update delete'],
  ['presets', 'presets', 'list get create update delete'],
  ['grants', 'grants', 'mine list get create revoke'],
  ['grants', 'grants scope', 'set'],
  ['grants', 'access', 'check'],
  ['policies', 'policies', 'list get create update delete'],
  ['audit', 'audit', 'list'],
  ['deployments', '', 'metrics'],
  ['open', '', 'open'],
  ['init', '', 'init'],
  ['tool', '', 'completion schema exit-codes version'],
] as const;

const fileByWords = new Map(
  files.flatMap(([file, group, names]) =>
    names.split(' ').map((name) => [`${group} ${name}`.trim(), file] as const),
  ),
);

export const commandWords: readonly string[] = [...fileByWords.keys()];

export const groups: Readonly<Record<string, Group>> = {
  tenants: { summary: 'Your tenants and the active one' },
  members: { summary: 'Members of the tenant and their roles' },
  notifications: { summary: 'Your notifications' },
  sessions: { summary: 'Your sessions' },
  pats: { summary: 'Personal access tokens for programs: rows, git and deployments' },
  apps: { summary: 'Apps that you own or can see' },
  'apps co-owners': { summary: 'Co-owners of an app' },
  'apps ownership': { summary: 'Representative owner of an app' },
  'apps members': { summary: 'Members of an app', alone: 'apps members list' },
  'apps inspection-consent': {
    summary: 'Consent to inspections by tenant admins, and the inspection ledger',
    alone: 'apps inspection-consent get',
  },
  'apps storage': { summary: 'Object storage of an app' },
  'apps raw-db': { summary: "An app's own PostgreSQL database" },
  'apps domains': { summary: 'Custom domains of an app' },
  'apps static': { summary: 'Static site of an app' },
  'apps static auth': { summary: 'Sign-in to sites' },
  'apps static releases': { summary: 'Releases of a site' },
  'apps static site': { summary: 'Status and configuration of a site' },
  'apps static site staging': { summary: 'Staging host for reviewing releases' },
  'apps templates': { summary: 'App templates' },
  'apps git': { summary: 'Git repository that an app is deployed from' },
  'git-host': { summary: 'Your account at the git host and its repositories' },
  'git-host accounts': { summary: 'Your linked accounts at the git host' },
  'git-host installations': { summary: 'Installations of the git host app' },
  deployments: { summary: 'Deployments of an app' },
  review: { summary: 'Requests to publish apps' },
  env: { summary: 'Environment variables of an app' },
  categories: { summary: 'App categories' },
  tables: { summary: 'Tables of an app' },
  'tables columns': { summary: 'Columns of a table' },
  'tables indexes': { summary: 'Indexes and unique constraints of a table' },
  'tables grants': { summary: 'Access grants for a table' },
  rows: { summary: 'Rows of a table' },
  connectors: { summary: 'Data connectors that grants apply to' },
  presets: { summary: 'Named sets of allowed actions' },
  grants: { summary: 'Access to connectors' },
  'grants scope': { summary: 'Scope of a grant' },
  access: { summary: 'Access checks' },
  policies: { summary: 'Row and column access policies' },
  audit: { summary: 'Audit log of a tenant' },
};

export const svc: Program<Command> = {
  name: 'svc',
  about: 'svc manages an application platform from the command line.',
  notes: [
    'Commands that change something only preview; --execute makes the change.',
    'Run svc <command> --help for details, and svc exit-codes for the exit codes.',
  ],
  commands: commandWords,
  groups,
  globalFlags,
  timeoutDefault: '60s',
  load: async (words) => {
    const declared: Record<string, Command> = await import(`./commands/${fileByWords.get(words)}.ts`);
    const command = Object.values(declared).find((it) => it.words === words);
    if (command === undefined) throw new Error(`No command is declared as "${words}".`);
    return command;
  },
};
