import { createTable } from '@svc/contract/tables.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { readDocument } from '../../inputs/document.ts';
import { checkColumns, columnTypesNote, tableBody, tableFlags } from '../../inputs/table.ts';
import { tableView } from '../../views/table.ts';

export default defineCommand({
  words: 'tables create',
  summary: 'Create a table of an app',
  description: `${columnTypesNote} Columns id, created_at and updated_at are added unless declared.`,
  kind: 'mutate',
  positionals: [{ name: 'table', summary: 'Its name' }],
  flags: { ...appFlag, ...tableFlags },
  check: ({ flags }) => checkColumns(flags.column),
  endpoint: createTable,
  input: async ({ tenant, positionals, flags, ctx }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: tableBody(positionals.table, flags, await readDocument(ctx, flags.schema, { digits: ['default'] })),
  }),
  view: tableView,
  examples: [
    {
      line: "svc tables create pets --app shop --column name:text --column age:int:nullable --column 'kind:text:cat' --execute",
      does: 'Three columns, one with a default',
    },
    {
      line: 'svc tables create notes --app shop --column owner:uuid --column body:text --owner-column owner',
      does: 'Preview one whose rows have owners',
    },
    { line: 'svc tables create pets --app shop --schema pets.yaml --execute', does: 'From a file' },
  ],
});
