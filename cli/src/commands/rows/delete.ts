import { deleteRow } from '@svc/contract/rows-endpoints.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { idPositional, rowsCredential, tablePositional } from '../../inputs/row-query.ts';
import { changeRow } from '../../rows/change-row.ts';
import { openRows } from '../../rows-client.ts';

export default defineCommand({
  words: 'rows delete',
  summary: 'Delete one row for good',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${deleteRow.method} ${deleteRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: appFlag,
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const call = { method: 'DELETE', of: { id: positionals.id } } as const;
    return changeRow(ctx, rows, call, () => ({ value: { deleted: true, id: positionals.id } }));
  },
  output: {
    type: 'object',
    properties: { deleted: { const: true }, id: { type: 'string' } },
    required: ['deleted', 'id'],
  },
  examples: [{ line: 'svc rows delete pets 7 --app shop --execute', does: 'Delete it' }],
});
