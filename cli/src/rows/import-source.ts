import { resolve } from 'node:path';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { fileChunks, fileUnreadable } from '../file-chunks.ts';
import type { RowsClient } from '../rows-client.ts';
import { columnsOfTable, type KnownColumns } from './column-types.ts';
import { type Convert, checkJsonLine, convertJsonLine, csvConverter } from './convert-record.ts';
import { type ImportFormat, readRecords, type SourceRecord } from './read-records.ts';

/** What is imported. */
export interface ImportSource {
  /** As typed; `-` is standard input. */
  name: string;
  /** Absolute; null for standard input. */
  path: string | null;
  /** Null where it can not be known. */
  bytes: number | null;
  format: ImportFormat;
  chunks(): AsyncIterable<Uint8Array>;
}

export async function importSource(ctx: Ctx, name: string, format?: ImportFormat): Promise<ImportSource> {
  const known = format ?? (/\.csv$/i.test(name) ? 'csv' : 'jsonl');
  if (name === '-') {
    return { name, path: null, bytes: null, format: known, chunks: () => ctx.io.inputChunks() };
  }
  const file = Bun.file(name);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadable(name, cause);
  });
  if (entry.isDirectory()) throw usage(`${name} is a folder.`);
  // What is no file, such as a pipe, can be read once only.
  const path = entry.isFile() ? resolve(name) : null;
  return {
    name,
    path,
    bytes: entry.isFile() ? entry.size : null,
    format: known,
    chunks: () => fileChunks(file, name),
  };
}

/** The records of the file, and what makes rows of them. */
export interface OpenSource {
  records: AsyncIterable<SourceRecord[]>;
  convert: Convert;
  /** Of a CSV file, as it stands there. */
  header: string | null;
}

export async function openSource(
  ctx: Ctx,
  rows: RowsClient,
  source: ImportSource,
  { types, check }: { types: KnownColumns | null; check: 'here' | 'by the server' },
): Promise<OpenSource> {
  const records = readRecords(source.chunks(), source.format);
  if (source.format === 'jsonl')
    return { records, convert: check === 'here' ? checkJsonLine : convertJsonLine, header: null };
  const known = types ?? (await columnsOfTable(ctx, rows.place)) ?? unknownTypes();
  const { value: first, done } = await records.next();
  const [head, ...rest] = done ? [] : first;
  if (head === undefined)
    throw usage(`${source.name} is empty; a CSV file begins with the names of its columns.`);
  return { records: followedBy(rest, records), ...csvConverter(head, known) };
}

function unknownTypes(): never {
  throw usage(
    'A CSV file does not tell the types of its columns, and you can not ask the server for them.',
    'Pass --types column:type,… or import JSON lines.',
  );
}

async function* followedBy<T>(first: T[], rest: AsyncGenerator<T[]>): AsyncGenerator<T[]> {
  if (first.length > 0) yield first;
  yield* rest;
}
