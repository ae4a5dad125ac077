import { listTenants } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { tenantView } from '../../views/tenant.ts';

export default defineCommand({
  words: 'tenants list',
  summary: 'List the tenants you are a member of',
  kind: 'read',
  flags: pageFlags,
  endpoint: listTenants,
  input: ({ flags }) => ({ query: { page: flags.page, per_page: flags['per-page'] } }),
  view: tenantView,
  examples: [{ line: 'svc tenants list', does: 'Your tenants and your role in each' }],
});
