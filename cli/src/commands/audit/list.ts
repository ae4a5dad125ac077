import { listAuditEntries } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';

export default defineCommand({
  words: 'audit list',
  summary: 'List what was changed in the tenant, newest first',
  kind: 'read',
  flags: {
    action: { type: 'string', placeholder: 'action', summary: 'Only this action, such as grants.revoke' },
    target: { type: 'string', placeholder: 'id', summary: 'Only changes of the thing with this id' },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the page before',
    },
    'per-page': pageFlags['per-page'],
    all: { type: 'boolean', excludes: ['cursor'], summary: 'Every page' },
  },
  endpoint: listAuditEntries,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: {
      action: flags.action,
      target_id: flags.target,
      cursor: flags.cursor,
      per_page: flags['per-page'],
    },
  }),
  view: { columns: ['seq', 'at', 'actor.name', 'action', 'target.kind', 'target.name', 'request_id'] },
  examples: [{ line: 'svc audit list --action grants.revoke', does: 'Who revoked grants' }],
});
