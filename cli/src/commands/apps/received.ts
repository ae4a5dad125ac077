import { listReceivedApps } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps received',
  summary: 'List the apps that others share with you, as co-owner or by invitation',
  kind: 'read',
  flags: pageFlags,
  endpoint: listReceivedApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownAppView,
  examples: [{ line: 'svc apps received', does: 'With what you are to each' }],
});
