import { addColumn } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { checkColumns, columnPlaceholder, columnTypesNote, tablePositional } from '../../../inputs/table.ts';
import { tableView } from '../../../views/table.ts';

export default defineCommand({
  words: 'tables columns add',
  summary: 'Add a column to a table',
  description: `${columnTypesNote} Rows that are there get the default; without one, the column must be nullable.`,
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    column: { type: 'string', required: true, placeholder: columnPlaceholder, summary: 'The column' },
  },
  check: ({ flags }) => checkColumns([flags.column]),
  endpoint: addColumn,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
    body: flags.column,
  }),
  view: tableView,
  examples: [
    {
      line: 'svc tables columns add pets --app shop --column colour:text:nullable --execute',
      does: 'Add one',
    },
    {
      line: 'svc tables columns add pets --app shop --column seen_at:timestamptz:2026-01-31T00:00:00Z --execute',
      does: 'With a default, which may hold colons',
    },
  ],
});
