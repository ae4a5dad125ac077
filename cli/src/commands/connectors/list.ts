import { listConnectors } from '@svc/contract/connectors.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { connectorView } from '../../views/connector.ts';

export default defineCommand({
  words: 'connectors list',
  summary: "List the tenant's data connectors",
  kind: 'read',
  flags: pageFlags,
  endpoint: listConnectors,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: connectorView,
  examples: [{ line: 'svc connectors list', does: 'The first page' }],
});
