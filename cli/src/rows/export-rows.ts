import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import type { QueryPair, RowsClient } from '../rows-client.ts';
import { columnsOfTable } from './column-types.ts';
import {
  asCsv,
  asJsonArray,
  asJsonLines,
  asYaml,
  type CsvColumns,
  type ExportFormat,
  type Piece,
} from './export-formats.ts';
import { count, type Progress, startProgress } from './progress.ts';
import { rowStream } from './row-stream.ts';
import { writeWholeFile } from './whole-file.ts';

export interface ExportJob {
  query: readonly QueryPair[];
  select: readonly string[] | null;
  format: ExportFormat;
  /** Null for standard output. */
  to: string | null;
}

/** Streams the rows to where they are wanted, holding no more of them than one piece. */
export async function exportRows(ctx: Ctx, rows: RowsClient, job: ExportJob): Promise<Result> {
  const stream = rowStream(ctx, rows, job.query);
  const pieces = await formatted(ctx, rows, job, stream);
  const progress = await startProgress(ctx, { doing: 'Exporting', bytesTotal: null });
  const done = { rows: 0, bytes: 0 };
  try {
    const counted = counting(pieces, done, progress);
    if (job.to !== null) await writeWholeFile(job.to, counted);
    else for await (const { text } of counted) await ctx.io.out(text);
  } finally {
    progress.clear();
  }
  if (job.to === null) return { value: [], printed: true };
  const value = { file: job.to, format: job.format, ...done };
  return { value, text: () => `${count(done.rows)} rows written to ${job.to}.\n` };
}

async function formatted(
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
  const types = await columnsOfTable(ctx, rows.place);
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

async function* counting(
  pieces: AsyncIterable<Piece>,
  done: { rows: number; bytes: number },
  progress: Progress,
): AsyncGenerator<Piece> {
  for await (const piece of pieces) {
    yield piece;
    done.rows += piece.rows;
    done.bytes += typeof piece.text === 'string' ? Buffer.byteLength(piece.text) : piece.text.length;
    progress.update(done);
  }
}
