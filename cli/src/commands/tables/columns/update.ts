import { updateColumn } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { columnPositional, tablePositional } from '../../../inputs/table.ts';
import { tableView } from '../../../views/table.ts';

export default defineCommand({
  words: 'tables columns update',
  summary: 'Change whether a column may be null, or its default',
  description: 'A new default counts for rows to come; those that are there stay as they are.',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: {
    ...appFlag,
    nullable: { type: 'boolean', summary: 'May be null; --nullable=false: always has a value' },
    default: { type: 'string', placeholder: 'value', excludes: ['no-default'], summary: 'New default' },
    'no-default': { type: 'boolean', summary: 'No default any more' },
  },
  check: ({ flags }) =>
    flags.nullable === undefined && flags.default === undefined && !flags['no-default']
      ? 'Give --nullable, --default or --no-default.'
      : undefined,
  endpoint: updateColumn,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table, column: positionals.column },
    body: { nullable: flags.nullable, default: flags['no-default'] ? null : flags.default },
  }),
  view: tableView,
  examples: [
    { line: 'svc tables columns update pets age --app shop --nullable --execute', does: 'Let it be null' },
    {
      line: 'svc tables columns update pets kind --app shop --default dog --execute',
      does: 'Another default',
    },
  ],
});
