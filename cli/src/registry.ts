import type { Command } from './command.ts';

/**
 * Every command by the words typed. Its file is `commands/<words>.ts`, and only the one that runs is loaded; a
 * test compares this list, the files and the words they declare.
 */
export const commandWords: readonly string[] = [
  'login',
  'logout',
  'whoami',
  'tenants list',
  'tenants get',
  'tenants use',
  'members list',
  'members set',
  'members remove',
  'sessions list',
  'sessions revoke',
  'pats list',
  'pats create',
  'pats revoke',
  'apps list',
  'apps get',
  'apps mine',
  'apps owned',
  'apps received',
  'apps workspace',
  'apps discover',
  'apps search',
  'apps check-availability',
  'apps create',
  'apps update',
  'apps openapi',
  'apps archive',
  'apps reactivate',
  'apps suspend',
  'apps resume',
  'apps delete',
  'apps restore',
  'apps purge',
  'apps sign-icon-upload',
  'apps co-owners list',
  'apps co-owners add',
  'apps co-owners remove',
  'apps ownership transfer',
  'apps members list',
  'apps members add',
  'apps members remove',
  'apps inspect',
  'apps inspection-consent get',
  'apps inspection-consent set',
  'apps inspection-consent ledger',
  'apps storage status',
  'apps storage enable',
  'apps storage ls',
  'apps storage get-url',
  'apps storage put',
  'apps storage cp',
  'apps storage rm',
  'apps raw-db enable',
  'apps raw-db rotate',
  'apps raw-db disable',
  'apps raw-db status',
  'apps domains list',
  'apps domains add',
  'apps domains remove',
  'apps domains verify',
  'apps static deploy',
  'apps static auth start',
  'apps static releases list',
  'apps static releases get',
  'apps static releases files',
  'apps static releases create',
  'apps static releases finalize',
  'apps static releases stage',
  'apps static releases activate',
  'apps static releases revoke',
  'apps static releases rollback',
  'apps static releases promote-request',
  'apps static releases promote-approve',
  'apps static releases promote-reject',
  'apps static site get',
  'apps static site set',
  'apps static site unpublish',
  'apps static site staging enable',
  'apps static site staging disable',
  'apps resource-presets',
  'apps templates list',
  'categories list',
  'categories get',
  'categories create',
  'categories update',
  'categories delete',
  'tables list',
  'tables get',
  'tables create',
  'tables update',
  'tables rename',
  'tables drop',
  'tables types',
  'tables columns add',
  'tables columns rename',
  'tables columns update',
  'tables columns drop',
  'tables indexes list',
  'tables indexes add',
  'tables indexes drop',
  'tables grants list',
  'tables grants issue',
  'tables grants revoke',
  'rows list',
  'rows get',
  'rows insert',
  'rows update',
  'rows delete',
  'rows count',
  'rows import',
  'rows export',
  'connectors list',
  'connectors get',
  'connectors create',
  'connectors update',
  'connectors delete',
  'presets list',
  'presets get',
  'presets create',
  'presets update',
  'presets delete',
  'grants mine',
  'grants list',
  'grants get',
  'grants create',
  'grants revoke',
  'grants scope set',
  'access check',
  'policies list',
  'policies get',
  'policies create',
  'policies update',
  'policies delete',
  'audit list',
  'init',
  'completion',
  'schema',
  'exit-codes',
  'version',
];

export function loadCommand(words: string): Promise<Command> {
  if (!isCommand(words)) throw new Error(`No command is registered as "${words}".`);
  return import(`./commands/${words.replaceAll(' ', '/')}.ts`).then((file) => file.default);
}

export function isCommand(path: string): boolean {
  return commandWords.includes(path);
}

export interface Group {
  summary: string;
  /** The command that runs when the group's words are typed alone. */
  alone?: string;
}

/** The words that commands share, for help. */
export const groups: Readonly<Record<string, Group>> = {
  tenants: { summary: 'Tenants you belong to, and which one is active' },
  members: { summary: 'Members of the tenant and their roles' },
  sessions: { summary: 'Your own sign-ins' },
  pats: { summary: 'Personal access tokens for the data API' },
  apps: { summary: 'Apps that you own or can see' },
  'apps co-owners': { summary: 'Who owns an app beside its representative owner' },
  'apps ownership': { summary: 'Who represents an app' },
  'apps members': { summary: 'Who belongs to an app', alone: 'apps members list' },
  'apps inspection-consent': {
    summary: 'Whether tenant admins may inspect an app, and what they have read',
    alone: 'apps inspection-consent get',
  },
  'apps storage': { summary: 'Files of an app, as objects under keys' },
  'apps raw-db': { summary: "An app's own PostgreSQL database" },
  'apps domains': { summary: 'Custom domains of an app' },
  'apps static': { summary: 'The static site of an app' },
  'apps static auth': { summary: 'Sign-in at sites' },
  'apps static releases': { summary: 'Releases of a site: what it shows, showed and may show' },
  'apps static site': { summary: 'What a site shows and how it is configured' },
  'apps static site staging': { summary: 'A host at which releases are looked at before visitors see them' },
  'apps templates': { summary: 'What an app can be begun from' },
  categories: { summary: 'Categories that apps may stand in' },
  tables: { summary: 'Tables of an app' },
  'tables columns': { summary: 'Columns of a table' },
  'tables indexes': { summary: 'Indexes and unique constraints of a table' },
  'tables grants': { summary: 'Who beside the app may reach a table' },
  rows: { summary: 'Rows of the tables of an app' },
  connectors: { summary: 'Data connectors that grants apply to' },
  presets: { summary: 'Named sets of allowed actions' },
  grants: { summary: 'Who may use which connector, with what, within which scope' },
  'grants scope': { summary: 'What a grant reaches' },
  access: { summary: 'Questions about who may do what' },
  policies: { summary: 'Row and column access policies' },
  audit: { summary: 'What was changed, when, by whom' },
};

export function isGroup(path: string): boolean {
  return Object.hasOwn(groups, path);
}

/** The words that may follow `path`, in the order of the list. */
export function nextWords(path: string): string[] {
  const prefix = path === '' ? '' : `${path} `;
  const found = new Set<string>();
  for (const words of commandWords) {
    if (words.startsWith(prefix)) found.add(words.slice(prefix.length).split(' ')[0] ?? '');
  }
  return [...found];
}
