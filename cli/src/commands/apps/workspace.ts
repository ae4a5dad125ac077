import { listWorkspace } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps workspace',
  summary: 'List every app that you have to do with: owned, co-owned, invited to',
  kind: 'read',
  flags: pageFlags,
  endpoint: listWorkspace,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownAppView,
  examples: [{ line: 'svc apps workspace', does: 'With what you are to each' }],
});
