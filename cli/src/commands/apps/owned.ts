import { listOwnedApps } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps owned',
  summary: 'List the apps whose representative owner you are',
  kind: 'read',
  flags: pageFlags,
  endpoint: listOwnedApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownAppView,
  examples: [{ line: 'svc apps owned', does: 'With what you are to each' }],
});
