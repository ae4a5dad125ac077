import { listAppRoles, removeAppRole, setAppRole } from '@svc/contract/app-roles.ts';
import {
  type AccessPreset,
  accessPresets,
  ruleActions,
  splitAlternatives,
} from '@svc/contract/table-rules.ts';
import { getTableAccess, setTableAccess } from '@svc/contract/tables.ts';
import { defineCommand } from '../command.ts';
import type { Flags } from '../framework/declaration.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import { readDocument } from '../inputs/document.ts';
import { tablePositional } from '../inputs/table.ts';
import { appRoleView, tableAccessView } from '../views/tables.ts';

export const tablesAccessGet = defineCommand({
  words: 'tables access get',
  summary: 'Show the rules of a table',
  kind: 'read',
  positionals: [tablePositional],
  flags: appFlag,
  endpoint: getTableAccess,
  view: tableAccessView,
  examples: {
    'orders --app lunch': 'Who may do what',
    'orders --app lunch -o yaml': 'As a file for tables access set --rules',
  },
});

const who = (summary: string) => ({ type: 'string', placeholder: 'who,…', summary }) as const;

const ruleFlags = {
  preset: { type: 'enum', values: accessPresets, summary: 'Rules to start from (the current rules)' },
  read: who('Who may read rows'),
  insert: who('Who may insert rows'),
  update: who('Who may update rows'),
  delete: who('Who may delete rows'),
  write: who('The same for insert, update and delete'),
  rules: {
    type: 'string',
    placeholder: 'path',
    summary: 'YAML or JSON with read, insert, update, delete, write and columns; - reads standard input',
  },
} as const satisfies Flags;

export const tablesAccessSet = defineCommand({
  words: 'tables access set',
  summary: 'Set the rules of a table',
  description:
    'Each rule is a list of alternatives: any (whoever may use the app), own (the row belongs to the caller), ' +
    "role:<name>, app (the app's own identity), none, or a filter such as region=eq.@me.region. The rules hold for " +
    'people who use the app and for the app itself; owners see and change all rows here and in the console.',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: { ...appFlag, ...ruleFlags },
  endpoint: setTableAccess,
  input: async ({ flags, ctx }) => {
    const file = await readDocument(ctx, flags.rules, { digits: [] });
    const lists = [...ruleActions, 'write' as const].flatMap((action) => {
      const text = flags[action];
      return text === undefined ? [] : [[action, splitAlternatives(text)] as const];
    });
    const { table: _, open_to_changes: __, preset, ...rules } = file;
    return {
      body: {
        ...rules,
        // The output of `tables access get` names the preset that its rules are.
        ...(preset && rules.read === undefined ? { preset: preset as AccessPreset } : {}),
        ...(flags.preset !== undefined && { preset: flags.preset }),
        ...Object.fromEntries(lists),
      },
    };
  },
  view: tableAccessView,
  examples: {
    'orders --app lunch --read own,role:manager --insert own --update own --delete none --execute':
      'People see their own orders, managers all',
    'menu --app lunch --read any --write role:manager --execute': 'Everybody reads, managers change',
    'orders --app lunch --rules orders.yaml': 'Preview rules from a file, also for columns',
  },
});

const roleFlags = {
  role: { type: 'string', required: true, placeholder: 'role', summary: 'Name of the role' },
  user: { type: 'string', required: true, placeholder: 'user', summary: 'User id or e-mail address' },
} as const satisfies Flags;

export const appsRolesList = defineCommand({
  words: 'apps roles list',
  summary: 'List the people who have roles of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listAppRoles,
  view: appRoleView,
  examples: { '--app lunch': 'By name' },
});

export const appsRolesSet = defineCommand({
  words: 'apps roles set',
  summary: 'Give somebody a role of an app',
  kind: 'mutate',
  flags: { ...appFlag, ...roleFlags },
  endpoint: setAppRole,
  input: ({ flags: { role, user } }) => ({ body: { role, user } }),
  view: appRoleView,
  examples: { '--app lunch --role manager --user mona@example.com --execute': 'Make her a manager' },
});

export const appsRolesRemove = defineCommand({
  words: 'apps roles remove',
  summary: 'Take a role of an app from somebody; takes effect at once',
  kind: 'mutate',
  flags: { ...appFlag, ...roleFlags },
  endpoint: removeAppRole,
  input: ({ flags: { role, user } }) => ({ params: { role, userID: user } }),
  examples: { '--app lunch --role manager --user mona@example.com --execute': 'No longer a manager' },
});
