import { addIndex } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tablePositional } from '../../../inputs/table.ts';
import { tableIndexView } from '../../../views/table-index.ts';

export default defineCommand({
  words: 'tables indexes add',
  summary: 'Add an index or a unique constraint to a table',
  description:
    'Rows can be read while it is built, not written. Over a jsonb column alone it serves the filter cs.',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    column: {
      type: 'list',
      required: true,
      placeholder: 'column',
      summary: 'Its columns, in this order',
    },
    unique: { type: 'boolean', summary: 'No two rows have the same values' },
    name: { type: 'string', placeholder: 'name', summary: 'Its name; made from the columns otherwise' },
  },
  endpoint: addIndex,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table },
    body: { columns: flags.column, unique: flags.unique, name: flags.name },
  }),
  view: tableIndexView,
  examples: [
    {
      line: 'svc tables indexes add pets --app shop --column kind,age --execute',
      does: 'For filters and sorting',
    },
    {
      line: 'svc tables indexes add pets --app shop --column chip --unique --execute',
      does: 'One pet per chip',
    },
  ],
});
