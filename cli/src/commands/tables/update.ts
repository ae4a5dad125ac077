import { updateTable } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { tablePositional } from '../../inputs/table.ts';
import { tableView } from '../../views/table.ts';

export default defineCommand({
  words: 'tables update',
  summary: 'Change the description of a table',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    description: { type: 'string', required: true, summary: 'New description; empty clears it' },
  },
  endpoint: updateTable,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
    body: { description: flags.description },
  }),
  view: tableView,
  examples: [
    {
      line: "svc tables update pets --app shop --description 'Who lives here' --execute",
      does: 'Say what it holds',
    },
  ],
});
