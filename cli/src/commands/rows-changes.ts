import {
  followRows,
  listRowHistory,
  listTrash,
  restoreRow,
  restoreRows,
} from '@svc/contract/rows-endpoints.ts';
import { type Column, defineCommand, objectSchema, type Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import {
  changeRow,
  checkFilters,
  filterFlags,
  idPositional,
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
    '<table> --app <app> --changes true. Ends at Ctrl-C (exit 130). ' +
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

const entryOutput = objectSchema({
  version: 'string',
  action: 'string',
  at: 'string',
  by: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  request_id: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  before: { anyOf: [rowOutput, { type: 'null' }] },
  row: { anyOf: [rowOutput, { type: 'null' }] },
});
const entriesOutput = objectSchema({
  data: { type: 'array', items: entryOutput },
  page: 'integer',
  per_page: 'integer',
  has_more: 'boolean',
});
const entryFlags = { ...appFlag, page: pageFlags.page, 'per-page': pageFlags['per-page'] } as const;

async function listEntries(
  ctx: Ctx,
  { app, table, of }: { app: string; table: string; of: { id: string; below: 'history' } | 'trash' },
  flags: { page?: number | undefined; 'per-page'?: number | undefined },
): Promise<Result> {
  const rows = await openRows(ctx, { app, table });
  const pairs = Object.entries({ page: flags.page, per_page: flags['per-page'] });
  const query = pairs.flatMap(([name, value]): QueryPair[] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const { body } = await rows.call({ of, query });
  const isTrash = of === 'trash';
  const what: Column[] = isTrash
    ? [{ title: 'id', value: ({ before }) => String((before as { id?: unknown } | null)?.id ?? '') }]
    : ['version', 'action'];
  const row: Column = {
    title: 'row',
    value: (entry) => JSON.stringify(entry[isTrash ? 'before' : 'row']),
  };
  return { value: body, view: { columns: [...what, 'at', 'by', 'request_id', row] } };
}

export const rowsHistory = defineCommand({
  words: 'rows history',
  summary: 'List the changes of a row, newest first',
  description: `The table needs a history: svc tables update <table> --app <app> --history 30d. ${rowsCredential}`,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listRowHistory.method} ${listRowHistory.path}`,
  positionals: [tablePositional, idPositional],
  flags: entryFlags,
  run: (ctx, { flags, positionals: { table, id } }) =>
    listEntries(ctx, { app: flags.app, table, of: { id, below: 'history' } }, flags),
  output: entriesOutput,
  examples: { 'pets 7 --app shop': 'Who changed it, when, and how' },
});

export const rowsTrash = defineCommand({
  words: 'rows trash',
  summary: 'List deleted rows that can be restored',
  description: `The table needs a trash: svc tables update <table> --app <app> --soft-delete 30d. ${rowsCredential}`,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listTrash.method} ${listTrash.path}`,
  positionals: [tablePositional],
  flags: entryFlags,
  run: (ctx, { flags, positionals: { table } }) =>
    listEntries(ctx, { app: flags.app, table, of: 'trash' }, flags),
  output: entriesOutput,
  examples: { 'pets --app shop': 'Last deleted first' },
});

export const rowsRestore = defineCommand({
  words: 'rows restore',
  summary: 'Restore a deleted row, or all rows that a request has deleted or updated',
  description:
    'The row keeps its id and its owner. With --request-id, everything that this request did is undone, or nothing if a row has ' +
    `changed since. svc rows history and svc rows trash show request ids. ${rowsCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${restoreRow.method} ${restoreRow.path} or ${restoreRows.path}`,
  positionals: [tablePositional, { ...idPositional, optional: true }],
  flags: {
    ...appFlag,
    'request-id': { type: 'string', placeholder: 'id', summary: 'The request that changed the rows' },
    by: {
      type: 'string',
      placeholder: 'user id',
      summary: 'Who made the request, if several people used its id',
    },
  },
  check: ({ flags, positionals }) =>
    (positionals.id === undefined) === (flags['request-id'] === undefined)
      ? 'Give the id of a row or --request-id.'
      : undefined,
  run: async (ctx, { flags, positionals: { table, id } }) => {
    const rows = await openRows(ctx, { app: flags.app, table });
    const of = id === undefined ? ('restore' as const) : ({ id, below: 'restore' } as const);
    const body = JSON.stringify(id === undefined ? { request_id: flags['request-id'], by: flags.by } : {});
    return changeRow(ctx, rows, { method: 'POST', of, body }, ({ body }) => ({ value: body }));
  },
  output: objectSchema({ restored: 'integer', ids: { type: 'array' } }),
  examples: {
    'pets 7 --app shop --execute': 'Restore one row',
    'pets --app shop --request-id 019a2b --execute': 'Undo a change of many rows',
  },
});
