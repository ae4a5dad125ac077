import { countCap, countModes, groupsPerPageMax, pageMax } from '@svc/contract/rows.ts';
import {
  aggregateRows,
  countRows,
  deleteRow,
  getRow,
  insertRows,
  listRows,
  updateRow,
} from '@svc/contract/rows-endpoints.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { pageFlags } from '../inputs/common.ts';
import { listMany, listPage } from '../rows/list-rows.ts';
import {
  changeRow,
  checkFilters,
  distinctFlag,
  filterFlags,
  idPositional,
  readRowData,
  rowDataFlags,
  rowOutput,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  rowsOutput,
  rowsResult,
  searchFlag,
  sourceFlags,
  tablePositional,
} from '../rows/row-command.ts';
import { openRows, type QueryPair } from '../rows/rows-client.ts';

export const rowsList = defineCommand({
  words: 'rows list',
  summary: 'List the rows of a table',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listRows.method} ${listRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...rowQueryFlags,
    ...distinctFlag,
    ...searchFlag,
    ...pageFlags,
    page: { ...pageFlags.page, max: pageMax, excludes: ['cursor'] },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    limit: {
      type: 'integer',
      min: 1,
      excludes: ['page', 'per-page', 'all'],
      summary: 'Maximum number of rows, over as many pages as needed',
    },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
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
  examples: {
    "pets --app shop --filter age=gt.3 --filter 'kind=in.(cat,dog)' --sort -age,name":
      'Matching rows in order',
    "pets --app shop --filter 'or=(age.gt.3,name.is.null)' --select id,name --all -o jsonl":
      'Every row that matches one of two conditions, one per line',
    'pets --app shop --limit 500 --json': 'The first 500 rows',
    "pets --app shop --search 'brown -cat'": 'Full-text search, with a search index of the table',
    'sales/orders --connector warehouse --filter total=gt.100': 'Rows of another database that a grant opens',
  },
});

export const rowsGet = defineCommand({
  words: 'rows get',
  summary: 'Show one row',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${getRow.method} ${getRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: {
    ...sourceFlags,
    select: rowQueryFlags.select,
    'with-etag': {
      type: 'boolean',
      summary: 'Print {"etag":…,"row":{…}} with the ETag for rows update --if-match',
    },
  },
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    const { body, headers } = await rows.call({ of: { id: positionals.id }, query: rowQuery(flags) });
    const row = body as Record<string, unknown>;
    const value = flags['with-etag'] ? { etag: headers.get('etag'), row } : row;
    return { ...rowsResult(ctx, value, []), view: { columns: [], exact: true } };
  },
  output: rowOutput,
  examples: {
    'pets 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --app shop': 'By its id',
    'pets 7 --app shop --with-etag --json': 'With its ETag, for a safe update',
  },
});

export const rowsInsert = defineCommand({
  words: 'rows insert',
  summary: 'Insert one row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${insertRows.method} ${insertRows.path}`,
  positionals: [tablePositional],
  flags: { ...sourceFlags, ...rowDataFlags },
  oneRequired: [['data', 'from-file']],
  run: async (ctx, { flags, positionals }) => {
    const body = await readRowData(ctx, flags);
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    return changeRow(ctx, rows, { method: 'POST', body }, (answer) => rowsResult(ctx, answer.body, []));
  },
  output: rowOutput,
  examples: {
    'pets --app shop --data \'{"name":"Rex","age":3}\' --execute': 'Insert one row',
    'pets --app shop --from-file pet.json': 'Preview an insert from a file',
  },
});

export const rowsUpdate = defineCommand({
  words: 'rows update',
  summary: 'Update columns of one row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${updateRow.method} ${updateRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: {
    ...sourceFlags,
    ...rowDataFlags,
    'if-match': {
      type: 'string',
      placeholder: 'etag',
      summary: 'Fail if the row has changed: the etag of rows get --with-etag',
    },
  },
  oneRequired: [['data', 'from-file']],
  run: async (ctx, { flags, positionals }) => {
    const body = await readRowData(ctx, flags);
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    const etag = flags['if-match'];
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': quoteEtag(etag) };
    const call = { method: 'PATCH', of: { id: positionals.id }, body, headers } as const;
    return changeRow(ctx, rows, call, (answer) => rowsResult(ctx, answer.body, []));
  },
  output: rowOutput,
  examples: {
    'pets 7 --app shop --data \'{"age":4}\' --execute': 'Update one column',
    'pets 7 --app shop --data \'{"age":4}\' --if-match 9b74c9 --execute': 'Only if nobody has changed it',
  },
});

/** Shells remove the quotes of an ETag. */
function quoteEtag(etag: string): string {
  return etag === '*' || etag.includes('"') ? etag : `"${etag}"`;
}

export const rowsDelete = defineCommand({
  words: 'rows delete',
  summary: 'Permanently delete one row',
  description: rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${deleteRow.method} ${deleteRow.path}`,
  positionals: [tablePositional, idPositional],
  flags: sourceFlags,
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    const call = { method: 'DELETE', of: { id: positionals.id } } as const;
    return changeRow(ctx, rows, call, () => ({ value: { deleted: true, id: positionals.id } }));
  },
  output: objectSchema({ deleted: { const: true }, id: 'string' }),
  examples: { 'pets 7 --app shop --execute': 'Delete it' },
});

export const rowsCount = defineCommand({
  words: 'rows count',
  summary: 'Count the rows of a table, or those that match',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${countRows.method} ${countRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...filterFlags,
    ...distinctFlag,
    ...searchFlag,
    mode: {
      type: 'enum',
      values: countModes,
      summary: `exact; capped stops at ${countCap}; estimated uses statistics (exact)`,
    },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    const mode: QueryPair[] = flags.mode === undefined ? [] : [['count', flags.mode]];
    const { body } = await rows.call({ of: 'count', query: [...rowQuery(flags), ...mode] });
    return { value: body, text: () => `${(body as { count: number }).count}\n` };
  },
  output: objectSchema({ count: 'integer', mode: 'string' }, ['mode']),
  examples: {
    'pets --app shop --filter age=gte.3': 'Count matching rows',
    'pets --app shop --mode estimated': 'Get an estimate',
  },
});

export const rowsAggregate = defineCommand({
  words: 'rows aggregate',
  summary: 'Group the rows of a table, and count or sum up each group',
  description:
    '--select names what to group by and what to compute: a column, count(), or a column with a function, as in ' +
    'amount.sum(), avg(), min(), max(), count() and count_distinct(). created_at.month(Europe/Berlin) groups by the ' +
    'start of the month in a time zone; also year, quarter, week, day and hour. alias:… renames. ' +
    rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${aggregateRows.method} ${aggregateRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...filterFlags,
    select: { type: 'list', required: true, placeholder: 'item', summary: 'What to group by and to compute' },
    having: {
      type: 'string',
      repeated: true,
      placeholder: 'name.op.value',
      summary: 'Only groups that match, by names of --select: n.gt.10, or(n.gt.10,total.is.null)',
    },
    sort: { type: 'list', placeholder: 'name', summary: 'Names of --select; -name is descending' },
    page: { ...pageFlags.page, max: pageMax, excludes: ['cursor'] },
    'per-page': {
      ...pageFlags['per-page'],
      max: groupsPerPageMax,
      summary: `Groups per page (${groupsPerPageMax})`,
    },
    cursor: {
      type: 'string',
      placeholder: 'cursor',
      summary: 'Continue after next_cursor of the previous page',
    },
    all: pageFlags.all,
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { ...flags, table: positionals.table });
    const pairs = Object.entries({ cursor: flags.cursor, page: flags.page, per_page: flags['per-page'] });
    const paging = pairs.flatMap(([name, value]): QueryPair[] =>
      value === undefined || (flags.all && name === 'per_page') ? [] : [[name, String(value)]],
    );
    const having = (flags.having ?? []).map((text): QueryPair => ['_having', text]);
    const query = [...rowQuery(flags), ...having, ...paging];
    if (flags.all) return listMany(ctx, rows, { query, limit: Number.POSITIVE_INFINITY, of: 'aggregate' });
    return listPage(ctx, rows, query, 'aggregate');
  },
  output: rowsOutput,
  examples: {
    'pets --app shop --select kind,n:count(),oldest:age.max() --sort -n': 'Count each kind',
    "pets --app shop --select 'month:created_at.month(Europe/Berlin),n:count()' --filter age=gt.3 --having n.gt.10":
      'Months with more than ten matching rows',
    'sales/orders --connector warehouse --select region,total:total.sum()': 'Sums of another database',
  },
});
