import { countCap, countModes } from '@svc/contract/rows.ts';
import { countRows } from '@svc/contract/rows-endpoints.ts';
import { defineCommand } from '../../define-command.ts';
import {
  checkFilters,
  filterFlags,
  rowQuery,
  rowsCredential,
  tablePositional,
} from '../../inputs/row-query.ts';
import { openRows, type QueryPair } from '../../rows-client.ts';

export default defineCommand({
  words: 'rows count',
  summary: 'Count the rows of a table, or those that fit',
  description: rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${countRows.method} ${countRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...filterFlags,
    mode: {
      type: 'enum',
      values: countModes,
      summary: `exact; capped stops at ${countCap}; estimated asks the statistics (exact)`,
    },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const mode: QueryPair[] = flags.mode === undefined ? [] : [['count', flags.mode]];
    const { body } = await rows.call({ of: 'count', query: [...rowQuery(flags), ...mode] });
    return { value: body, text: () => `${(body as { count: number }).count}\n` };
  },
  output: {
    type: 'object',
    properties: { count: { type: 'integer' }, mode: { type: 'string' } },
    required: ['count'],
  },
  examples: [
    { line: 'svc rows count pets --app shop --filter age=gte.3', does: 'How many fit' },
    { line: 'svc rows count pets --app shop --mode estimated', does: 'About how many there are, at once' },
  ],
});
