import { listMyApps } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { ownAppView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps mine',
  summary: 'List the apps that you own or co-own',
  kind: 'read',
  flags: pageFlags,
  endpoint: listMyApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownAppView,
  examples: [{ line: 'svc apps mine', does: 'With what you are to each' }],
});
