import { getRow } from '@svc/contract/rows-endpoints.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import {
  idPositional,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  tablePositional,
} from '../../inputs/row-query.ts';
import { openRows } from '../../rows-client.ts';
import { rowOutput, rowsResult } from '../../views/rows.ts';

export default defineCommand({
  words: 'rows get',
  summary: 'Show one row',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${getRow.method} ${getRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: {
    ...appFlag,
    select: rowQueryFlags.select,
    'with-etag': {
      type: 'boolean',
      summary: 'Print {"etag":…,"row":{…}}: the ETag is for rows update --if-match',
    },
  },
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const { body, headers } = await rows.call({ of: { id: positionals.id }, query: rowQuery(flags) });
    const row = body as Record<string, unknown>;
    const value = flags['with-etag'] ? { etag: headers.get('etag'), row } : row;
    return { ...rowsResult(ctx, value, []), view: { columns: [] } };
  },
  output: rowOutput,
  examples: [
    { line: 'svc rows get pets 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app shop', does: 'By its id' },
    { line: 'svc rows get pets 7 --app shop --with-etag --json', does: 'With its ETag, for a safe update' },
  ],
});
