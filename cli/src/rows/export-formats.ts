import { parseExact } from '../exact-json.ts';
import type { KnownColumns } from './column-types.ts';
import { type CsvField, csvRecord } from './csv.ts';
import { countLines, linesOf } from './row-stream.ts';

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Part of what is written, and how many rows it holds. */
export interface Piece {
  text: string | Uint8Array;
  rows: number;
}

/** The very bytes that the server sent. */
export async function* asJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  for await (const chunk of chunks) yield { text: chunk, rows: countLines(chunk) };
}

/** One JSON document: the rows stay to the letter what they were. */
export async function* asJsonArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let first = true;
  for await (const lines of linesOf(chunks)) {
    yield { text: `${first ? '[\n' : ',\n'}${lines.join(',\n')}`, rows: lines.length };
    first = false;
  }
  yield { text: first ? '[]\n' : '\n]\n', rows: 0 };
}

/** JSON within YAML is YAML. */
export async function* asYaml(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let rows = 0;
  for await (const lines of linesOf(chunks)) {
    rows += lines.length;
    yield { text: lines.map((line) => `- ${line}\n`).join(''), rows: lines.length };
  }
  if (rows === 0) yield { text: '[]\n', rows: 0 };
}

export interface CsvColumns {
  /** The header; null takes the names of the first row. */
  names: readonly string[] | null;
  types: KnownColumns | null;
}

export async function* asCsv(
  chunks: AsyncIterable<Uint8Array>,
  { names, types }: CsvColumns,
): AsyncGenerator<Piece> {
  let header = names;
  if (header !== null) yield { text: csvRecord(header), rows: 0 };
  for await (const lines of linesOf(chunks)) {
    let text = '';
    for (const line of lines) {
      const row = parseExact(line) as Record<string, unknown>;
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

/** A text in a `jsonb` column is written as JSON, so that it is not mistaken for a number or a word when read back. */
function csvValue(value: unknown, isJson: boolean): CsvField {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' && !isJson) return value;
  return JSON.stringify(value);
}
