import { listReceivedApps } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps received',
  summary: 'List the apps that others share with you, as co-owner or by invitation',
  kind: 'read',
  pages: 'all',
  endpoint: listReceivedApps,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: {} }),
  view: ownAppView,
  examples: [{ line: 'svc apps received', does: 'With what you are to each' }],
});
