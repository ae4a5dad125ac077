import { issueTableGrant, principalTypes, tableActions } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tableFlag } from '../../../inputs/table.ts';
import { tableGrantView } from '../../../views/table-grant.ts';

export default defineCommand({
  words: 'tables grants issue',
  summary: 'Let a user, an app or a role reach a table',
  description: 'Where the table has an owner column, they see and change only rows of their own.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...tableFlag,
    'principal-type': { type: 'enum', values: principalTypes, required: true, summary: 'What is let in' },
    'principal-id': {
      type: 'string',
      placeholder: 'principal',
      required: true,
      summary: 'User id or e-mail address, app id or slug, or tenant_member or tenant_admin',
    },
    actions: { type: 'list', values: tableActions, required: true, summary: 'What they may do' },
  },
  endpoint: issueTableGrant,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: flags.table },
    body: {
      principal_type: flags['principal-type'],
      principal_id: flags['principal-id'],
      actions: flags.actions,
    },
  }),
  view: tableGrantView,
  examples: [
    {
      line: 'svc tables grants issue --app shop --table pets --principal-type user --principal-id ada@example.com --actions read,write --execute',
      does: 'To one person',
    },
    {
      line: 'svc tables grants issue --app shop --table pets --principal-type role --principal-id tenant_member --actions read',
      does: 'Preview one for every member of the tenant',
    },
  ],
});
