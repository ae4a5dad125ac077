import { listPolicies } from '@svc/contract/access-policies.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { policyView } from '../../views/policy.ts';

export default defineCommand({
  words: 'policies list',
  summary: "List the tenant's access policies",
  kind: 'read',
  flags: {
    connector: {
      type: 'string',
      placeholder: 'connector',
      summary: 'Only those of this connector, by id or slug',
    },
    ...pageFlags,
  },
  endpoint: listPolicies,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { connector_id: flags.connector, page: flags.page, per_page: flags['per-page'] },
  }),
  view: policyView,
  examples: [{ line: 'svc policies list --connector warehouse', does: 'The policies of one connector' }],
});
