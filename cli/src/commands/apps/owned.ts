import { listOwnedApps } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps owned',
  summary: 'List the apps whose representative owner you are',
  kind: 'read',
  pages: 'all',
  endpoint: listOwnedApps,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: {} }),
  view: ownAppView,
  examples: [{ line: 'svc apps owned', does: 'With what you are to each' }],
});
