import { getTable } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { tablePositional } from '../../inputs/table.ts';
import { tableView } from '../../views/table.ts';

export default defineCommand({
  words: 'tables get',
  summary: 'Show one table with its columns',
  kind: 'read',
  positionals: [tablePositional],
  flags: appFlag,
  endpoint: getTable,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
  }),
  view: tableView,
  examples: [
    { line: 'svc tables get pets --app shop', does: 'By its name' },
    { line: 'svc tables get pets --app shop -o yaml', does: 'As a file for tables create --schema' },
  ],
});
