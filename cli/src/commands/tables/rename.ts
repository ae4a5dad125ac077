import { updateTable } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { tablePositional } from '../../inputs/table.ts';
import { tableView } from '../../views/table.ts';

export default defineCommand({
  words: 'tables rename',
  summary: 'Give a table another name; its rows and grants stay',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    to: { type: 'string', required: true, placeholder: 'name', summary: 'New name' },
  },
  endpoint: updateTable,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
    body: { name: flags.to },
  }),
  view: tableView,
  examples: [{ line: 'svc tables rename pets --app shop --to animals --execute', does: 'Rename it' }],
});
