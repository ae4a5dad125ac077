import { insertRows } from '@svc/contract/rows-endpoints.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { readRowData, rowDataFlags } from '../../inputs/row-data.ts';
import { rowsCredential, tablePositional } from '../../inputs/row-query.ts';
import { changeRow } from '../../rows/change-row.ts';
import { openRows } from '../../rows-client.ts';
import { rowOutput, rowsResult } from '../../views/rows.ts';

export default defineCommand({
  words: 'rows insert',
  summary: 'Insert one row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${insertRows.method} ${insertRows.path}`,
  positionals: [tablePositional],
  flags: { ...appFlag, ...rowDataFlags },
  oneRequired: [['data', 'from-file']],
  run: async (ctx, { flags, positionals }) => {
    const body = await readRowData(ctx, flags);
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    return changeRow(ctx, rows, { method: 'POST', body }, (answer) => rowsResult(ctx, answer.body, []));
  },
  output: rowOutput,
  examples: [
    {
      line: 'svc rows insert pets --app shop --data \'{"name":"Rex","age":3}\' --execute',
      does: 'One row',
    },
    { line: 'svc rows insert pets --app shop --from-file pet.json', does: 'From a file, as a preview' },
  ],
});
