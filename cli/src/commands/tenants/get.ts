import { getTenant } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'tenants get',
  summary: 'Show the active tenant, or the one given with --tenant',
  kind: 'read',
  endpoint: getTenant,
  input: ({ tenant }) => ({ params: { tenantID: tenant } }),
  examples: [{ line: 'svc tenants get --tenant demo', does: 'One tenant as its members see it' }],
});
