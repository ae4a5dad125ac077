import { dropTable } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { tablePositional } from '../../inputs/table.ts';

export default defineCommand({
  words: 'tables drop',
  summary: 'Drop a table with all its rows and grants',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: appFlag,
  endpoint: dropTable,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
  }),
  examples: [{ line: 'svc tables drop pets --app shop --execute', does: 'Drop it' }],
});
