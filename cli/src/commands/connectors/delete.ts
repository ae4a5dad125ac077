import { deleteConnector } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'connectors delete',
  summary: 'Delete a connector that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  endpoint: deleteConnector,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, connectorID: positionals.connector } }),
  examples: [{ line: 'svc connectors delete warehouse --execute', does: 'Delete it' }],
});
