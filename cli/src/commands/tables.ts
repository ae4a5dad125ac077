import { tablesPerAppMax } from '@svc/contract/columns.ts';
import {
  createTable,
  dropTable,
  getTable,
  issueTableGrant,
  listTableGrants,
  listTables,
  principalTypes,
  revokeTableGrant,
  tableActions,
  updateTable,
} from '@svc/contract/tables.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { appFlag, flagFields, pageFlags } from '../inputs/common.ts';
import { readDocument } from '../inputs/document.ts';
import {
  checkColumns,
  columnTypesNote,
  tableBody,
  tableFlag,
  tableFlags,
  tablePositional,
} from '../inputs/table.ts';
import { resolveTenant } from '../session/tenant.ts';
import { tableTypes } from '../tables/table-types.ts';
import { tableGrantView, tableView } from '../views/tables.ts';

export const tablesList = defineCommand({
  words: 'tables list',
  summary: 'List the tables of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listTables,
  view: tableView,
  examples: { '--app shop': 'By name' },
});

export const tablesGet = defineCommand({
  words: 'tables get',
  summary: 'Show one table with its columns',
  kind: 'read',
  positionals: [tablePositional],
  flags: appFlag,
  endpoint: getTable,
  view: tableView,
  examples: {
    'pets --app shop': 'By its name',
    'pets --app shop -o yaml': 'As a file for tables create --schema',
  },
});

export const tablesCreate = defineCommand({
  words: 'tables create',
  summary: 'Create a table',
  description: `${columnTypesNote} Columns id, created_at and updated_at are added unless declared.`,
  kind: 'mutate',
  positionals: [{ name: 'table', summary: 'Table name' }],
  flags: { ...appFlag, ...tableFlags },
  check: ({ flags }) => checkColumns(flags.column),
  endpoint: createTable,
  input: async ({ positionals, flags, ctx }) => ({
    body: tableBody(positionals.table, flags, await readDocument(ctx, flags.schema, { digits: ['default'] })),
  }),
  view: tableView,
  examples: {
    "pets --app shop --column name:text --column age:int:nullable --column 'kind:text:cat' --execute":
      'Three columns, one with a default',
    'notes --app shop --column owner:uuid --column body:text --owner-column owner':
      'Preview a table whose rows have owners',
    'pets --app shop --schema pets.yaml --execute': 'From a file',
  },
});

const daysOf = (text: string) => (['none', 'null', ''].includes(text) ? null : text);

export const tablesUpdate = defineCommand({
  words: 'tables update',
  summary: 'Change the description of a table, its change feed, history and trash',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    description: { type: 'string', summary: 'New description; empty clears it' },
    changes: {
      type: 'enum',
      values: ['true', 'false'],
      summary: 'Whether the table has a change feed (svc rows watch)',
    },
    history: {
      type: 'string',
      placeholder: '30d',
      summary: 'How long earlier states of rows can be read (svc rows history); none switches it off',
    },
    'soft-delete': {
      type: 'string',
      placeholder: '30d',
      summary: 'How long deleted rows can be restored (svc rows restore); none switches it off',
    },
  },
  check: ({ flags }) =>
    [flags.description, flags.changes, flags.history, flags['soft-delete']].every(
      (flag) => flag === undefined,
    )
      ? 'Give --description, --changes, --history or --soft-delete.'
      : undefined,
  endpoint: updateTable,
  input: ({ flags }) => ({
    body: {
      ...(flags.description !== undefined && { description: flags.description }),
      ...(flags.changes !== undefined && { changes: flags.changes === 'true' }),
      ...(flags.history !== undefined && { history: daysOf(flags.history) }),
      ...(flags['soft-delete'] !== undefined && { soft_delete: daysOf(flags['soft-delete']) }),
    },
  }),
  view: tableView,
  examples: {
    "pets --app shop --description 'Who lives here' --execute": 'Set the description',
    'pets --app shop --changes true --execute': 'Switch the change feed on',
    'pets --app shop --history 30d --soft-delete 30d --execute': 'Keep earlier states and deleted rows',
  },
});

export const tablesRename = defineCommand({
  words: 'tables rename',
  summary: 'Rename a table; its rows and grants stay',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    to: { type: 'string', required: true, placeholder: 'name', summary: 'New name' },
  },
  endpoint: updateTable,
  input: ({ flags }) => ({ body: { name: flags.to } }),
  view: tableView,
  examples: { 'pets --app shop --to animals --execute': 'Rename it' },
});

export const tablesDrop = defineCommand({
  words: 'tables drop',
  summary: 'Drop a table with all its rows and grants',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: appFlag,
  endpoint: dropTable,
  examples: { 'pets --app shop --execute': 'Drop it' },
});

export const tablesTypes = defineCommand({
  words: 'tables types',
  summary: 'Print the tables of an app as TypeScript types for the SDK',
  description:
    'Row is the type of rows that are read; Insert and Update are the types of rows that are sent. Use Database with ' +
    'createClient<Database>.',
  kind: 'read',
  flags: appFlag,
  calls: `${listTables.method} ${listTables.path}`,
  run: async (ctx, { flags }) => {
    const tenantID = await resolveTenant(ctx);
    const client = await ctx.client();
    const { items } = await client.call(listTables, {
      params: { tenantID, app: flags.app },
      query: { per_page: tablesPerAppMax },
    });
    const types = tableTypes(flags.app, items);
    return { value: { types }, text: () => types };
  },
  output: objectSchema({ types: 'string' }),
  examples: { '--app shop': 'Save it with … > src/database.ts' },
});

export const tablesGrantsList = defineCommand({
  words: 'tables grants list',
  summary: 'List the access grants of a table',
  kind: 'read',
  flags: { ...appFlag, ...tableFlag, ...pageFlags },
  endpoint: listTableGrants,
  view: tableGrantView,
  examples: { '--app shop --table pets': 'For one table' },
});

export const tablesGrantsIssue = defineCommand({
  words: 'tables grants issue',
  summary: 'Give a user, a group, an app or a role access to a table',
  description: 'If the table has an owner column, access is limited to their own rows.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...tableFlag,
    'principal-type': { type: 'enum', values: principalTypes, required: true, summary: 'Kind of principal' },
    'principal-id': {
      type: 'string',
      placeholder: 'principal',
      required: true,
      summary:
        'User id or e-mail address, app id or slug, group id or name, or tenant_member or tenant_admin',
    },
    actions: { type: 'list', values: tableActions, required: true, summary: 'Allowed actions' },
  },
  endpoint: issueTableGrant,
  input: ({ flags }) => ({
    body: flagFields(flags, 'principal-type', 'principal-id', 'actions'),
  }),
  view: tableGrantView,
  examples: {
    '--app shop --table pets --principal-type user --principal-id ada@example.com --actions read,write --execute':
      'For one user',
    '--app shop --table pets --principal-type role --principal-id tenant_member --actions read':
      'Preview a grant for every member of the tenant',
  },
});

export const tablesGrantsRevoke = defineCommand({
  words: 'tables grants revoke',
  summary: 'Revoke an access grant of a table',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...tableFlag,
    'grant-id': { type: 'string', placeholder: 'id', required: true, summary: 'Grant id' },
  },
  endpoint: revokeTableGrant,
  examples: {
    '--app shop --table pets --grant-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'By its id',
  },
});
