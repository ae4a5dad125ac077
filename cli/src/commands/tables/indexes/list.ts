import { listIndexes } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tablePositional } from '../../../inputs/table.ts';
import { pageFlags } from '../../../page-flags.ts';
import { tableIndexView } from '../../../views/table-index.ts';

export default defineCommand({
  words: 'tables indexes list',
  summary: 'List the indexes and unique constraints of a table',
  kind: 'read',
  positionals: [tablePositional],
  flags: { ...appFlag, ...pageFlags },
  endpoint: listIndexes,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: tableIndexView,
  examples: [{ line: 'svc tables indexes list pets --app shop', does: 'Of one table' }],
});
