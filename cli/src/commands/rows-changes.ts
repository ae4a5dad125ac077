import { followRows } from '@svc/contract/rows-endpoints.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { appFlag } from '../inputs/common.ts';
import {
  checkFilters,
  filterFlags,
  rowOutput,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  tablePositional,
} from '../rows/row-command.ts';
import { openRows, type QueryPair } from '../rows/rows-client.ts';

export const rowsWatch = defineCommand({
  words: 'rows watch',
  summary: 'Print the changes of rows as they happen',
  description:
    'Prints one JSON object per line: {"event": "insert", "id": …, "data": the row}. Events are insert, update and delete (data is ' +
    'the id of the row); ready when earlier changes are complete; row for each row that exists (--snapshot); reset when what was ' +
    'printed before is no longer valid. Lost connections are opened again. The table needs a change feed: svc tables update ' +
    '<table> --changes true. Ends at Ctrl-C (exit 130). ' +
    rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${followRows.method} ${followRows.path}`,
  timeoutDefault: '24h',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    filter: filterFlags.filter,
    select: rowQueryFlags.select,
    snapshot: { type: 'boolean', summary: 'Print the existing rows first' },
    after: {
      type: 'string',
      placeholder: 'id',
      summary: 'Continue after the event with this id, for 24 hours',
    },
    limit: { type: 'integer', min: 1, placeholder: 'n', summary: 'End after this many lines' },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const snapshot: QueryPair[] = flags.snapshot ? [['_snapshot', 'true']] : [];
    const { watchRows } = await import('../rows/watch-rows.ts');
    return watchRows(ctx, rows, {
      query: [...rowQuery(flags), ...snapshot],
      lastEventId: flags.after,
      limit: flags.limit ?? Number.POSITIVE_INFINITY,
    });
  },
  output: objectSchema({ event: 'string', id: 'string', data: rowOutput }, ['id']),
  examples: {
    'pets --app shop --limit 1': 'Wait for the next change; without --limit, print all of them',
    'pets --app shop --filter age=gt.3 --select name --snapshot --limit 1':
      'Only matching rows and some columns',
  },
});
