import { updateColumn } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { columnPositional, tablePositional } from '../../../inputs/table.ts';
import { tableView } from '../../../views/table.ts';

export default defineCommand({
  words: 'tables columns rename',
  summary: 'Give a column another name; its values stay',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: {
    ...appFlag,
    to: { type: 'string', required: true, placeholder: 'name', summary: 'New name' },
  },
  endpoint: updateColumn,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table, column: positionals.column },
    body: { name: flags.to },
  }),
  view: tableView,
  examples: [
    { line: 'svc tables columns rename pets age --app shop --to years --execute', does: 'Rename it' },
  ],
});
