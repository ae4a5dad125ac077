import { listTables } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { tableView } from '../../views/table.ts';

export default defineCommand({
  words: 'tables list',
  summary: 'List the tables of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listTables,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: tableView,
  examples: [{ line: 'svc tables list --app shop', does: 'By name' }],
});
