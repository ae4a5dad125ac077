import { listRows } from '@svc/contract/rows-endpoints.ts';
import { defineCommand } from '../../define-command.ts';
import { usage } from '../../errors.ts';
import {
  checkFilters,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  tablePositional,
} from '../../inputs/row-query.ts';
import { exportFormats } from '../../rows/export-formats.ts';
import { openRows } from '../../rows-client.ts';
import { rowOutput } from '../../views/rows.ts';

export default defineCommand({
  words: 'rows export',
  summary: 'Export rows as JSON lines or CSV, however many there are',
  description:
    'Writes the rows as they are at one instant, to standard output or to a file that appears when it is whole. In ' +
    'CSV null is an empty field, an empty text "", and JSON its text. What ends before its end exits 12. ' +
    rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listRows.method} ${listRows.path}`,
  timeoutDefault: '24h',
  positionals: [tablePositional],
  flags: {
    ...rowQueryFlags,
    format: {
      type: 'enum',
      values: exportFormats,
      summary: 'Format of the rows (csv if --to ends so, otherwise jsonl)',
    },
    to: { type: 'string', placeholder: 'path', summary: 'File to write; standard output otherwise' },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const to = flags.to === undefined || flags.to === '-' ? null : flags.to;
    const format = flags.format ?? (to !== null && /\.csv$/i.test(to) ? 'csv' : 'jsonl');
    if (to === null && format === 'csv' && ctx.globals.format !== 'table')
      throw usage(
        `--format csv and --output ${ctx.globals.format} exclude each other, unless --to names a file.`,
      );
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const { exportRows } = await import('../../rows/export-rows.ts');
    return exportRows(ctx, rows, {
      query: rowQuery(flags),
      select: flags.select?.length ? flags.select : null,
      format,
      to,
    });
  },
  output: {
    anyOf: [
      { type: 'array', items: rowOutput },
      {
        type: 'object',
        properties: {
          file: { type: 'string' },
          format: { type: 'string' },
          rows: { type: 'integer' },
          bytes: { type: 'integer' },
        },
        required: ['file', 'format', 'rows', 'bytes'],
      },
    ],
  },
  examples: [
    { line: 'svc rows export pets --app shop', does: 'Every row, one per line' },
    {
      line: 'svc rows export pets --app shop --filter age=gt.3 --select id,name --to old-pets.csv',
      does: 'Some rows and columns as CSV',
    },
  ],
});
