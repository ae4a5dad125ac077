import { listWorkspace } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps workspace',
  summary: 'List every app that you have to do with: owned, co-owned, invited to',
  kind: 'read',
  pages: 'all',
  endpoint: listWorkspace,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: {} }),
  view: ownAppView,
  examples: [{ line: 'svc apps workspace', does: 'With what you are to each' }],
});
