import { resolve } from 'node:path';
import { type FileRecord, RowFileError, type RowFileFormat, readRecords } from '@svc/contract/csv.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { fileChunks, fileUnreadableError } from '../inputs/files.ts';
import {
  type Convert,
  checkJsonLine,
  convertJsonLine,
  csvConverter,
  fetchColumns,
  type KnownColumns,
  rejectedLinesError,
} from './convert-record.ts';
import type { RowsClient } from './rows-client.ts';

export interface ImportSource {
  name: string;
  path: string | null;
  bytes: number | null;
  format: RowFileFormat;
  chunks(): AsyncIterable<Uint8Array>;
}

export async function importSource(ctx: Ctx, name: string, format?: RowFileFormat): Promise<ImportSource> {
  const known = format ?? (/\.csv$/i.test(name) ? 'csv' : 'jsonl');
  if (name === '-') {
    return { name, path: null, bytes: null, format: known, chunks: () => ctx.io.inputChunks() };
  }
  const file = Bun.file(name);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadableError(name, cause);
  });
  if (entry.isDirectory()) throw usageError(`${name} is a folder.`);
  // A pipe can be read once only.
  const path = entry.isFile() ? resolve(name) : null;
  return {
    name,
    path,
    bytes: entry.isFile() ? entry.size : null,
    format: known,
    chunks: () => fileChunks(file, name),
  };
}

export interface OpenSource {
  records: AsyncIterable<FileRecord[]>;
  convert: Convert;
  header: string | null;
}

export async function openSource(
  ctx: Ctx,
  rows: RowsClient,
  source: ImportSource,
  { types, check }: { types: KnownColumns | null; check: 'here' | 'by the server' },
): Promise<OpenSource> {
  const records = sourceRecords(source);
  if (source.format === 'jsonl')
    return { records, convert: check === 'here' ? checkJsonLine : convertJsonLine, header: null };
  const known = types ?? (await fetchColumns(ctx, rows.ref)) ?? unknownTypes();
  const { value: first, done } = await records.next();
  const [head, ...rest] = done ? [] : first;
  if (head === undefined)
    throw usageError(`${source.name} is empty; a CSV file must begin with the column names.`);
  return { records: followedBy(rest, records), ...csvConverter(head, known) };
}

async function* sourceRecords({ chunks, format }: ImportSource): AsyncGenerator<FileRecord[]> {
  try {
    yield* readRecords(chunks(), format);
  } catch (error) {
    if (!(error instanceof RowFileError)) throw error;
    const { code, line, message } = error;
    if (code === 'utf_16') throw usageError(message, 'Convert it to UTF-8.');
    throw rejectedLinesError([{ line, code, detail: message }], 'Correct the file.');
  }
}

function unknownTypes(): never {
  throw usageError(
    'The column types of the CSV file are unknown, because you cannot read the table.',
    'Pass --types column:type,… or import JSON lines.',
  );
}

async function* followedBy<T>(first: T[], rest: AsyncGenerator<T[]>): AsyncGenerator<T[]> {
  if (first.length > 0) yield first;
  yield* rest;
}
