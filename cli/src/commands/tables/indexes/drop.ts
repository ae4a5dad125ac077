import { dropIndex } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tablePositional } from '../../../inputs/table.ts';

export default defineCommand({
  words: 'tables indexes drop',
  summary: 'Drop an index or a unique constraint',
  kind: 'mutate',
  positionals: [tablePositional, { name: 'index', summary: 'Index name or id' }],
  flags: appFlag,
  endpoint: dropIndex,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: positionals.table, index: positionals.index },
  }),
  examples: [{ line: 'svc tables indexes drop pets chip_key --app shop --execute', does: 'By its name' }],
});
