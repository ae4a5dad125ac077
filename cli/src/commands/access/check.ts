import { checkAccess } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'access check',
  summary: 'Ask whether a user may do something, and by which grants',
  kind: 'read',
  flags: {
    subject: { type: 'string', required: true, placeholder: 'user', summary: 'User id or e-mail address' },
    connector: { type: 'string', required: true, placeholder: 'connector', summary: 'Connector id or slug' },
    action: { type: 'string', required: true, placeholder: 'action', summary: 'Such as read or write' },
    'resource-path': {
      type: 'string',
      placeholder: 'path',
      summary: 'schema or schema/table; the whole connector otherwise',
    },
  },
  endpoint: checkAccess,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: {
      subject_id: flags.subject,
      connector_id: flags.connector,
      action: flags.action,
      resource_path: flags['resource-path'],
    },
  }),
  examples: [
    {
      line: 'svc access check --subject ada@example.com --connector warehouse --action read --resource-path hr/people',
      does: 'May Ada read this table?',
    },
  ],
});
