import { connectorKinds, createConnector } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'connectors create',
  summary: 'Register a data connector',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Name that people see' },
    kind: { type: 'enum', values: connectorKinds, required: true, summary: 'What it connects to' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands; made from the name otherwise',
    },
    description: { type: 'string', summary: 'What it is for' },
  },
  endpoint: createConnector,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: { name: flags.name, slug: flags.slug, kind: flags.kind, description: flags.description },
  }),
  examples: [
    {
      line: 'svc connectors create --name Warehouse --kind postgres --execute',
      does: 'Register a PostgreSQL server',
    },
  ],
});
