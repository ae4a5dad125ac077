import { type CsvField, csvRecord } from '@svc/contract/csv.ts';
import { parseLossless } from '@svc/contract/json.ts';
import { jsonLinesMediaType } from '@svc/contract/rows.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { formatCount, type RowProgress, startRowProgress } from '../output/progress.ts';
import { withReadTimeout } from '../session/waiting.ts';
import { fetchColumns, type KnownColumns } from './convert-record.ts';
import { writeWholeFile } from './files.ts';
import type { QueryPair, RowsClient } from './rows-client.ts';

export interface ExportJob {
  query: readonly QueryPair[];
  select: readonly string[] | null;
  format: ExportFormat;
  to: string | null;
}

export async function exportRows(ctx: Ctx, rows: RowsClient, job: ExportJob): Promise<Result> {
  const stream = rowStream(ctx, rows, job.query);
  const pieces = await formatRows(ctx, rows, job, stream);
  const progress = await startRowProgress(ctx, { doing: 'Exporting', bytesTotal: null });
  const done = { rows: 0, bytes: 0 };
  try {
    const counted = countRows(pieces, done, progress);
    if (job.to !== null) await writeWholeFile(job.to, counted);
    else for await (const { text } of counted) await ctx.io.out(text);
  } finally {
    progress.clear();
  }
  if (job.to === null) return { value: [], printed: true };
  const value = { file: job.to, format: job.format, ...done };
  return { value, text: () => `${formatCount(done.rows)} rows written to ${job.to}.\n` };
}

async function formatRows(
  ctx: Ctx,
  rows: RowsClient,
  job: ExportJob,
  stream: AsyncIterable<Uint8Array>,
): Promise<AsyncIterable<Piece>> {
  if (job.format === 'csv') return asCsv(stream, await csvColumns(ctx, rows, job.select));
  if (job.to === null && ctx.globals.format === 'json') return asJsonArray(stream);
  if (job.to === null && ctx.globals.format === 'yaml') return asYaml(stream);
  return asJsonLines(stream);
}

async function csvColumns(ctx: Ctx, rows: RowsClient, select: ExportJob['select']): Promise<CsvColumns> {
  const types = await fetchColumns(ctx, rows.ref);
  if (select === null) return { names: null, types };
  const items = select.map((item) => {
    const [alias = '', column = alias] = item.split(':');
    return { alias, column };
  });
  const known = items.flatMap(({ alias, column }) => {
    const type = types?.get(column);
    return type === undefined ? [] : [[alias, type] as const];
  });
  return { names: items.map(({ alias }) => alias), types: types === null ? null : new Map(known) };
}

async function* countRows(
  pieces: AsyncIterable<Piece>,
  done: { rows: number; bytes: number },
  progress: RowProgress,
): AsyncGenerator<Piece> {
  for await (const piece of pieces) {
    yield piece;
    done.rows += piece.rows;
    done.bytes += typeof piece.text === 'string' ? Buffer.byteLength(piece.text) : piece.text.length;
    progress.update(done);
  }
}

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface Piece {
  text: string | Uint8Array;
  rows: number;
}

export async function* asJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  for await (const chunk of chunks) yield { text: chunk, rows: countLines(chunk) };
}

export async function* asJsonArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let first = true;
  for await (const lines of splitLines(chunks)) {
    yield { text: `${first ? '[\n' : ',\n'}${lines.join(',\n')}`, rows: lines.length };
    first = false;
  }
  yield { text: first ? '[]\n' : '\n]\n', rows: 0 };
}

export async function* asYaml(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let rows = 0;
  for await (const lines of splitLines(chunks)) {
    rows += lines.length;
    yield { text: lines.map((line) => `- ${line}\n`).join(''), rows: lines.length };
  }
  if (rows === 0) yield { text: '[]\n', rows: 0 };
}

export interface CsvColumns {
  names: readonly string[] | null;
  types: KnownColumns | null;
}

export async function* asCsv(
  chunks: AsyncIterable<Uint8Array>,
  { names, types }: CsvColumns,
): AsyncGenerator<Piece> {
  let header = names;
  if (header !== null) yield { text: csvRecord(header), rows: 0 };
  for await (const lines of splitLines(chunks)) {
    let text = '';
    for (const line of lines) {
      const row = parseLossless(line) as Record<string, unknown>;
      if (header === null) {
        header = Object.keys(row);
        text += csvRecord(header);
      }
      text += csvRecord(header.map((name) => csvValue(row[name], types?.get(name)?.type === 'jsonb')));
    }
    yield { text, rows: lines.length };
  }
  if (header === null && types !== null) yield { text: csvRecord([...types.keys()]), rows: 0 };
}

/** Text in a `jsonb` column is written as JSON, to be distinguishable from numbers and keywords. */
function csvValue(value: unknown, isJson: boolean): CsvField {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' && !isJson) return value;
  return JSON.stringify(value);
}

const newline = 10;

export async function* rowStream(
  ctx: Ctx,
  rows: RowsClient,
  query: readonly QueryPair[],
): AsyncGenerator<Uint8Array> {
  const response = await rows.open({ query, headers: { accept: jsonLinesMediaType } });
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  let last: number | undefined = newline;
  try {
    for (;;) {
      const { done, value } = await withReadTimeout(reader.read()).catch((cause) => {
        throw ctx.signal.aborted ? ctx.signal.reason : truncatedError(cause);
      });
      if (done) break;
      last = value.at(-1) ?? last;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  // A proxy may hide that the connection was lost; an incomplete line reveals it.
  if (last !== newline) throw truncatedError();
}

function truncatedError(cause?: unknown): CliError {
  return new CliError('no_connection', 'The stream of rows is incomplete.', {
    next: 'Try again; the written output is incomplete.',
    cause,
  });
}

export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield lines;
  }
}

export function countLines(chunk: Uint8Array): number {
  let lines = 0;
  for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) lines += 1;
  return lines;
}
