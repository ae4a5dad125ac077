import { deleteConnector, getConnector } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';
import { idOf } from '../../inputs/id-of.ts';

export default defineCommand({
  words: 'connectors delete',
  summary: 'Delete a connector that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  endpoint: deleteConnector,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, connectorID: positionals.connector } }),
  deletedId: async (ctx, { params }) => {
    const client = await ctx.client();
    return idOf(params.connectorID, () => client.call(getConnector, { params }, { signal: ctx.signal }));
  },
  examples: [{ line: 'svc connectors delete warehouse --execute', does: 'Delete it' }],
});
