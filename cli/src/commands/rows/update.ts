import { updateRow } from '@svc/contract/rows-endpoints.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { readRowData, rowDataFlags } from '../../inputs/row-data.ts';
import { idPositional, rowsCredential, tablePositional } from '../../inputs/row-query.ts';
import { changeRow } from '../../rows/change-row.ts';
import { openRows } from '../../rows-client.ts';
import { rowOutput, rowsResult } from '../../views/rows.ts';

export default defineCommand({
  words: 'rows update',
  summary: 'Change some columns of one row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${updateRow.method} ${updateRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: {
    ...appFlag,
    ...rowDataFlags,
    'if-match': {
      type: 'string',
      placeholder: 'etag',
      summary: 'Refuse if the row has changed since: the etag of rows get --with-etag',
    },
  },
  oneRequired: [['data', 'from-file']],
  run: async (ctx, { flags, positionals }) => {
    const body = await readRowData(ctx, flags);
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const etag = flags['if-match'];
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': quoted(etag) };
    const call = { method: 'PATCH', of: { id: positionals.id }, body, headers } as const;
    return changeRow(ctx, rows, call, (answer) => rowsResult(ctx, answer.body, []));
  },
  output: rowOutput,
  examples: [
    { line: 'svc rows update pets 7 --app shop --data \'{"age":4}\' --execute', does: 'One column' },
    {
      line: 'svc rows update pets 7 --app shop --data \'{"age":4}\' --if-match 9b74c9 --execute',
      does: 'Only if nobody changed it in between',
    },
  ],
});

/** Shells eat the quotes that belong to an ETag. */
function quoted(etag: string): string {
  return etag === '*' || etag.includes('"') ? etag : `"${etag}"`;
}
