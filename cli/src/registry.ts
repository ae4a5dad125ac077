import type { Command } from './command.ts';

/**
 * Every command by the words typed, with the file that declares it. Only the file of the command that runs is
 * loaded; a test compares words, files and this table.
 */
export const commandFiles: Readonly<Record<string, () => Promise<{ default: Command }>>> = {
  login: () => import('./commands/login.ts'),
  logout: () => import('./commands/logout.ts'),
  whoami: () => import('./commands/whoami.ts'),
  'tenants list': () => import('./commands/tenants/list.ts'),
  'tenants get': () => import('./commands/tenants/get.ts'),
  'tenants use': () => import('./commands/tenants/use.ts'),
  'members list': () => import('./commands/members/list.ts'),
  'members set': () => import('./commands/members/set.ts'),
  'members remove': () => import('./commands/members/remove.ts'),
  'sessions list': () => import('./commands/sessions/list.ts'),
  'sessions revoke': () => import('./commands/sessions/revoke.ts'),
  'pats list': () => import('./commands/pats/list.ts'),
  'pats create': () => import('./commands/pats/create.ts'),
  'pats revoke': () => import('./commands/pats/revoke.ts'),
  'connectors list': () => import('./commands/connectors/list.ts'),
  'connectors get': () => import('./commands/connectors/get.ts'),
  'connectors create': () => import('./commands/connectors/create.ts'),
  'connectors update': () => import('./commands/connectors/update.ts'),
  'connectors delete': () => import('./commands/connectors/delete.ts'),
  'presets list': () => import('./commands/presets/list.ts'),
  'presets get': () => import('./commands/presets/get.ts'),
  'presets create': () => import('./commands/presets/create.ts'),
  'presets update': () => import('./commands/presets/update.ts'),
  'presets delete': () => import('./commands/presets/delete.ts'),
  'grants mine': () => import('./commands/grants/mine.ts'),
  'grants list': () => import('./commands/grants/list.ts'),
  'grants get': () => import('./commands/grants/get.ts'),
  'grants create': () => import('./commands/grants/create.ts'),
  'grants revoke': () => import('./commands/grants/revoke.ts'),
  'grants scope set': () => import('./commands/grants/scope/set.ts'),
  'access check': () => import('./commands/access/check.ts'),
  'policies list': () => import('./commands/policies/list.ts'),
  'policies get': () => import('./commands/policies/get.ts'),
  'policies create': () => import('./commands/policies/create.ts'),
  'policies update': () => import('./commands/policies/update.ts'),
  'policies delete': () => import('./commands/policies/delete.ts'),
  'audit list': () => import('./commands/audit/list.ts'),
  completion: () => import('./commands/completion.ts'),
  schema: () => import('./commands/schema.ts'),
  'exit-codes': () => import('./commands/exit-codes.ts'),
  version: () => import('./commands/version.ts'),
};

export interface Group {
  summary: string;
  /** The command that runs when the group's words are typed alone. */
  alone?: string;
}

export const groups: Readonly<Record<string, Group>> = {
  tenants: { summary: 'Tenants you belong to, and which one is active' },
  members: { summary: 'Members of the tenant and their roles' },
  sessions: { summary: 'Your own sign-ins' },
  pats: { summary: 'Personal access tokens for the data API' },
  connectors: { summary: 'Data connectors that grants apply to' },
  presets: { summary: 'Named sets of allowed actions' },
  grants: { summary: 'Who may use which connector, with what, within which scope' },
  'grants scope': { summary: 'What a grant reaches' },
  access: { summary: 'Questions about who may do what' },
  policies: { summary: 'Row and column access policies' },
  audit: { summary: 'What was changed, when, by whom' },
};

export async function loadCommand(words: string): Promise<Command> {
  const load = commandFiles[words];
  if (load === undefined) throw new Error(`No command is registered as "${words}".`);
  return (await load()).default;
}

/** The words that may follow `path`, in the order of the table. */
export function nextWords(path: string): string[] {
  const prefix = path === '' ? '' : `${path} `;
  const found = new Set<string>();
  for (const words of Object.keys(commandFiles)) {
    if (words.startsWith(prefix)) found.add(words.slice(prefix.length).split(' ')[0] ?? '');
  }
  return [...found];
}

export function isCommand(path: string): boolean {
  return Object.hasOwn(commandFiles, path);
}

export function isGroup(path: string): boolean {
  return Object.hasOwn(groups, path);
}
