import { batchLinesMax } from '@svc/contract/rows.ts';
import { insertRows } from '@svc/contract/rows-endpoints.ts';
import { appFlag } from '../../app-flag.ts';
import { defineCommand } from '../../define-command.ts';
import { usage } from '../../errors.ts';
import { rowsCredential, tablePositional } from '../../inputs/row-query.ts';
import { carryOut } from '../../mutation.ts';
import { parseTypes } from '../../rows/column-types.ts';
import { importSource } from '../../rows/import-source.ts';
import { importFormats } from '../../rows/read-records.ts';
import { openRows } from '../../rows-client.ts';

const batchLinesDefault = 5_000;
const badLinesDefault = 1_000;

export default defineCommand({
  words: 'rows import',
  summary: 'Import a file of JSON lines or CSV of any size',
  description:
    'Sends the file in batches, each stored whole or not at all. A bad line stops it before its batch; ' +
    '--skip-bad-lines leaves such lines out instead. Once killed or stopped, --resume goes on behind what is done, ' +
    'and stores nothing twice. CSV needs a first line with the names of the columns; an empty field is null, "" an ' +
    'empty text. Without --execute the file is read and checked, and its first batch by the server. ' +
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
      summary: 'The file; - reads standard input',
    },
    format: {
      type: 'enum',
      values: importFormats,
      summary: "The file's format (csv if its name ends so, otherwise jsonl)",
    },
    'on-conflict': {
      type: 'string',
      placeholder: 'column',
      requires: ['resolution'],
      summary: 'What to do with rows whose value here exists already: a column that is unique',
    },
    resolution: {
      type: 'enum',
      values: ['merge', 'ignore'],
      requires: ['on-conflict'],
      summary: 'merge overwrites the row that is there, ignore leaves it',
    },
    'batch-size': {
      type: 'integer',
      min: 1,
      max: batchLinesMax,
      summary: `Lines per request (${batchLinesDefault})`,
    },
    resume: { type: 'boolean', excludes: ['restart'], summary: 'Go on where an import of this file ended' },
    restart: {
      type: 'boolean',
      summary: 'Begin at the first line although an import of this file is unfinished',
    },
    'skip-bad-lines': { type: 'boolean', summary: 'Leave out lines that are refused, and go on' },
    'max-bad-lines': {
      type: 'integer',
      min: 1,
      requires: ['skip-bad-lines'],
      summary: `Stop when more are refused (${badLinesDefault})`,
    },
    'errors-to': {
      type: 'string',
      placeholder: 'path',
      requires: ['skip-bad-lines'],
      summary: 'File for the lines that were left out, as they were',
    },
    types: {
      type: 'list',
      placeholder: 'column:type',
      summary: 'Types of the columns of a CSV file, where you may not ask the server for them',
    },
  },
  check: ({ flags }) => {
    if (flags.types !== undefined) parseTypes(flags.types);
    if (flags['from-file'] === '-' && flags.resume)
      return '--resume needs a file; standard input can not be read again.';
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
      preview: async () => (await import('../../rows/preview-import.ts')).previewImport(ctx, rows, job),
      execute: async (plan) => {
        if (plan !== undefined) {
          if (source.path === null) throw usage('--plan needs a file; standard input can not be read again.');
          await (await import('../../rows/preview-import.ts')).checkImportPlan(ctx, rows, job, plan);
        }
        return (await import('../../rows/import-rows.ts')).importRows(ctx, rows, job);
      },
    });
  },
  output: {
    type: 'object',
    properties: {
      file: { type: 'string' },
      inserted: { type: 'integer' },
      updated: { type: 'integer' },
      skipped: { type: 'integer' },
      batches: { type: 'integer' },
      total: {
        type: 'object',
        description: 'With the runs before, where it was resumed.',
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
        items: {
          type: 'object',
          properties: {
            line: { type: 'integer' },
            column: { type: 'string' },
            code: { type: 'string' },
            detail: { type: 'string' },
          },
          required: ['line', 'code', 'detail'],
        },
      },
    },
    required: ['file', 'inserted', 'updated', 'skipped', 'batches', 'total', 'ignored_columns', 'errors'],
  },
  examples: [
    {
      line: 'svc rows import pets --app shop --from-file pets.jsonl',
      does: 'Check the file and see what would happen',
    },
    { line: 'svc rows import pets --app shop --from-file pets.csv --execute', does: 'Import it' },
    {
      line: 'svc rows import pets --app shop --from-file pets.csv --on-conflict id --resolution merge --skip-bad-lines --errors-to bad.csv --execute',
      does: 'Overwrite what is there; keep bad lines in a file of their own',
    },
  ],
});
