import { listApps } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { appView } from '../../views/app.ts';

export default defineCommand({
  words: 'apps list',
  summary: 'List the apps that you can see',
  kind: 'read',
  flags: pageFlags,
  endpoint: listApps,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: appView,
  examples: [{ line: 'svc apps list --all', does: 'Every app that you can see' }],
});
