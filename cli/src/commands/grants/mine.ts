import { listMyGrants } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';
import { grantView } from '../../views/grant.ts';

export default defineCommand({
  words: 'grants mine',
  summary: 'List your own active grants, newest first',
  kind: 'read',
  endpoint: listMyGrants,
  input: ({ tenant }) => ({ params: { tenantID: tenant } }),
  view: grantView,
  examples: [{ line: 'svc grants mine --json', does: 'What you may use, as JSON' }],
});
