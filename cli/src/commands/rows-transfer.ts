import { rowFileFormats } from '@svc/contract/csv.ts';
import { batchLinesMax } from '@svc/contract/rows.ts';
import { insertRows, listRows } from '@svc/contract/rows-endpoints.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { usageError } from '../framework/errors.ts';
import { appFlag } from '../inputs/common.ts';
import { carryOut } from '../mutation.ts';
import { parseTypes } from '../rows/convert-record.ts';
import { exportFormats } from '../rows/export-rows.ts';
import { importSource } from '../rows/import-source.ts';
import {
  checkFilters,
  distinctFlag,
  rowOutput,
  rowQuery,
  rowQueryFlags,
  rowsCredential,
  searchFlag,
  tablePositional,
} from '../rows/row-command.ts';
import { openRows } from '../rows/rows-client.ts';

const batchLinesDefault = 5_000;
const badLinesDefault = 1_000;

export const rowsImport = defineCommand({
  words: 'rows import',
  summary: 'Import a file of JSON lines or CSV of any size',
  description:
    'Sends the file in batches, each stored completely or not at all. A bad line stops the import before its batch; ' +
    '--skip-bad-lines skips such lines. --resume continues an interrupted import and stores nothing twice. CSV needs a ' +
    'first line with the column names; an empty field is null, "" an empty string. Without --execute the file is ' +
    'checked, and its first batch by the server. ' +
    rowsCredential,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${insertRows.method} ${insertRows.path}`,
  timeoutDefault: '24h',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    'from-file': {
      type: 'string',
      required: true,
      placeholder: 'path',
      summary: 'File; - reads standard input',
    },
    format: {
      type: 'enum',
      values: rowFileFormats,
      summary: 'Format of the file (csv if its name ends with .csv, otherwise jsonl)',
    },
    'on-conflict': {
      type: 'string',
      placeholder: 'column',
      requires: ['resolution'],
      summary: 'Unique column that identifies existing rows',
    },
    resolution: {
      type: 'enum',
      values: ['merge', 'ignore'],
      requires: ['on-conflict'],
      summary: 'merge updates the existing row, ignore skips the line',
    },
    'batch-size': {
      type: 'integer',
      min: 1,
      max: batchLinesMax,
      summary: `Lines per request (${batchLinesDefault})`,
    },
    resume: { type: 'boolean', excludes: ['restart'], summary: 'Resume an unfinished import of this file' },
    restart: {
      type: 'boolean',
      summary: 'Start at the first line although an import of this file is unfinished',
    },
    'skip-bad-lines': { type: 'boolean', summary: 'Skip rejected lines' },
    'max-bad-lines': {
      type: 'integer',
      min: 1,
      requires: ['skip-bad-lines'],
      summary: `Stop when more lines are rejected (${badLinesDefault})`,
    },
    'errors-to': {
      type: 'string',
      placeholder: 'path',
      requires: ['skip-bad-lines'],
      summary: 'File for the skipped lines',
    },
    types: {
      type: 'list',
      placeholder: 'column:type',
      summary: 'Column types of a CSV file, if you cannot read the table',
    },
  },
  check: ({ flags }) => {
    if (flags.types !== undefined) parseTypes(flags.types);
    if (flags['from-file'] === '-' && flags.resume)
      return '--resume needs a file: standard input cannot be read again.';
    return undefined;
  },
  run: async (ctx, { flags, positionals }) => {
    const source = await importSource(ctx, flags['from-file'], flags.format);
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const column = flags['on-conflict'];
    const job = {
      source,
      types: flags.types === undefined ? null : parseTypes(flags.types),
      conflict: column === undefined ? null : { column, resolution: flags.resolution ?? 'merge' },
      batchSize: flags['batch-size'] ?? batchLinesDefault,
      skip: flags['skip-bad-lines']
        ? { linesMax: flags['max-bad-lines'] ?? badLinesDefault, to: flags['errors-to'] ?? null }
        : null,
      start: flags.resume ? 'resume' : flags.restart ? 'restart' : 'first',
    } as const;
    return carryOut(ctx, {
      preview: async () => (await import('../rows/preview-import.ts')).previewImport(ctx, rows, job),
      execute: async (plan) => {
        if (plan !== undefined) {
          if (source.path === null)
            throw usageError('--plan needs a file: standard input cannot be read again.');
          await (await import('../rows/preview-import.ts')).checkImportPlan(ctx, rows, job, plan);
        }
        return (await import('../rows/import-rows.ts')).importRows(ctx, rows, job);
      },
    });
  },
  output: objectSchema({
    file: 'string',
    inserted: 'integer',
    updated: 'integer',
    skipped: 'integer',
    batches: 'integer',
    total: {
      type: 'object',
      description: 'Including earlier runs of a resumed import.',
      properties: {
        inserted: { type: 'integer' },
        updated: { type: 'integer' },
        skipped: { type: 'integer' },
        batches: { type: 'integer' },
      },
      required: ['inserted', 'updated', 'skipped', 'batches'],
    },
    ignored_columns: { type: 'array', items: { type: 'string' } },
    errors: {
      type: 'array',
      items: objectSchema({ line: 'integer', column: 'string', code: 'string', detail: 'string' }, [
        'column',
      ]),
    },
  }),
  examples: {
    'pets --app shop --from-file pets.jsonl': 'Check the file and preview the import',
    'pets --app shop --from-file pets.csv --execute': 'Import it',
    'pets --app shop --from-file pets.csv --on-conflict id --resolution merge --skip-bad-lines --errors-to bad.csv --execute':
      'Update existing rows, and write bad lines to a file',
  },
});

export const rowsExport = defineCommand({
  words: 'rows export',
  summary: 'Export rows as JSON lines or CSV, however many there are',
  description:
    'Writes a consistent snapshot of the rows to standard output, or to a file that appears when it is complete. In ' +
    'CSV null is an empty field, an empty string is "", and JSON is its text. An incomplete export exits with 12. ' +
    rowsCredential,
  kind: 'read',
  credential: 'login_or_pat',
  calls: `${listRows.method} ${listRows.path}`,
  timeoutDefault: '24h',
  positionals: [tablePositional],
  flags: {
    ...rowQueryFlags,
    ...distinctFlag,
    ...searchFlag,
    format: {
      type: 'enum',
      values: exportFormats,
      summary: 'Format of the rows (csv if --to ends with .csv, otherwise jsonl)',
    },
    to: { type: 'string', placeholder: 'path', summary: 'File to write (standard output)' },
  },
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const to = flags.to === undefined || flags.to === '-' ? null : flags.to;
    const isCsv = to === null ? ctx.globals.format === 'csv' : /\.csv$/i.test(to);
    const format = flags.format ?? (isCsv ? 'csv' : 'jsonl');
    if (to === null && format === 'csv' && !['table', 'csv'].includes(ctx.globals.format))
      throw usageError(
        `--format csv and --output ${ctx.globals.format} cannot be combined, unless --to names a file.`,
      );
    const rows = await openRows(ctx, {
      app: flags.app,
      connector: flags.connector,
      table: positionals.table,
    });
    const { exportRows } = await import('../rows/export-rows.ts');
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
      objectSchema({ file: 'string', format: 'string', rows: 'integer', bytes: 'integer' }),
    ],
  },
  examples: {
    'pets --app shop': 'Export every row, one per line',
    'pets --app shop --filter age=gt.3 --select id,name --to old-pets.csv':
      'Export some rows and columns as CSV',
  },
});
