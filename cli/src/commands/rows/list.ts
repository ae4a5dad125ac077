import { pageMax } from '@svc/contract/rows.ts';
import { listRows } from '@svc/contract/rows-endpoints.ts';
import { defineCommand } from '../../define-command.ts';
import {
  checkFilters,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  tablePositional,
} from '../../inputs/row-query.ts';
import { pageFlags } from '../../page-flags.ts';
import { listMany, listPage } from '../../rows/list-rows.ts';
import { openRows, type QueryPair } from '../../rows-client.ts';
import { rowsOutput } from '../../views/rows.ts';

export default defineCommand({
  words: 'rows list',
  summary: 'List the rows of a table',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listRows.method} ${listRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...rowQueryFlags,
    ...pageFlags,
    page: { ...pageFlags.page, max: pageMax, excludes: ['cursor'] },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Go on where a listing ended: its next_cursor',
    },
    limit: {
      type: 'integer',
      min: 1,
      excludes: ['page', 'per-page', 'all'],
      summary: 'So many rows at most, over as many pages as it takes',
    },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const begin: QueryPair[] = flags.cursor === undefined ? [] : [['cursor', flags.cursor]];
    const query = [...rowQuery(flags), ...begin];
    const limit = flags.limit ?? (flags.all ? Number.POSITIVE_INFINITY : undefined);
    if (limit !== undefined) return listMany(ctx, rows, { query, limit });
    const page: QueryPair[] = flags.page === undefined ? [] : [['page', String(flags.page)]];
    const size = flags['per-page'];
    const perPage: QueryPair[] = size === undefined ? [] : [['per_page', String(size)]];
    return listPage(ctx, rows, [...query, ...page, ...perPage]);
  },
  output: rowsOutput,
  examples: [
    {
      line: "svc rows list pets --app shop --filter age=gt.3 --filter 'kind=in.(cat,dog)' --sort -age,name",
      does: 'Some rows, in order',
    },
    {
      line: "svc rows list pets --app shop --filter 'or=(age.gt.3,name.is.null)' --select id,name --all -o jsonl",
      does: 'Every row that fits one of two conditions, one per line',
    },
    { line: 'svc rows list pets --app shop --limit 500 --json', does: 'The first 500' },
  ],
});
