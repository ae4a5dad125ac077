import { dropColumn } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { columnPositional, tablePositional } from '../../../inputs/table.ts';

export default defineCommand({
  words: 'tables columns drop',
  summary: 'Drop a column with its values and the indexes over it',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: appFlag,
  endpoint: dropColumn,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table, column: positionals.column },
  }),
  examples: [{ line: 'svc tables columns drop pets age --app shop --execute', does: 'Drop it' }],
});
