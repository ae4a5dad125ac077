import { getConnector } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'connectors get',
  summary: 'Show one connector',
  kind: 'read',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  endpoint: getConnector,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, connectorID: positionals.connector } }),
  examples: [{ line: 'svc connectors get warehouse', does: 'By its slug' }],
});
