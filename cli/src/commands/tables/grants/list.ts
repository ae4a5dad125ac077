import { listTableGrants } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tableFlag } from '../../../inputs/table.ts';
import { pageFlags } from '../../../page-flags.ts';
import { tableGrantView } from '../../../views/table-grant.ts';

export default defineCommand({
  words: 'tables grants list',
  summary: 'List who beside the app may reach a table',
  kind: 'read',
  flags: { ...appFlag, ...tableFlag, ...pageFlags },
  endpoint: listTableGrants,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: flags.table },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: tableGrantView,
  examples: [{ line: 'svc tables grants list --app shop --table pets', does: 'Of one table' }],
});
