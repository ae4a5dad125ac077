import { updateConnector } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'connectors update',
  summary: 'Change name or description of a connector',
  kind: 'mutate',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  flags: {
    name: { type: 'string', summary: 'New name' },
    description: { type: 'string', summary: 'New description; empty clears it' },
  },
  oneRequired: [['name', 'description']],
  endpoint: updateConnector,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, connectorID: positionals.connector },
    body: { name: flags.name, description: flags.description },
  }),
  examples: [
    { line: "svc connectors update warehouse --name 'Sales warehouse' --execute", does: 'Rename it' },
  ],
});
