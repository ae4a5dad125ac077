import { membersOf } from '../data/raw-json.ts';
import { type CsvCell, CsvReader } from './csv-reader.ts';

export type ImportFormat = 'csv' | 'jsonl';

/** One record of a file, by the names that the file uses. */
export interface SourceRecord {
  line: number;
  fields: ReadonlyMap<string, SourceField>;
  /** What keeps it from being read at all. */
  fault: string | null;
}
export type SourceField = ({ kind: 'cell' } & CsvCell) | { kind: 'json'; json: string };

/** The records of a file of any size, as far as they are asked for. */
export async function* sourceRecords(source: Blob, format: ImportFormat): AsyncGenerator<SourceRecord> {
  yield* format === 'csv' ? csvRecords(source) : jsonRecords(source);
}

/** By its name, else by how it begins. */
export function formatOf(name: string, beginning: string): ImportFormat {
  if (/\.csv$/i.test(name)) return 'csv';
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'jsonl';
  return beginning.trimStart().startsWith('{') ? 'jsonl' : 'csv';
}

async function* csvRecords(source: Blob): AsyncGenerator<SourceRecord> {
  const reader = new CsvReader();
  let names: string[] | null = null;
  for await (const piece of piecesOf(source)) {
    for (const { line, cells } of piece === null ? reader.end() : reader.read(piece)) {
      if (names) yield csvRecord(line, names, cells);
      else names = cells.map(({ text }) => text.trim());
    }
  }
}

function csvRecord(line: number, names: readonly string[], cells: readonly CsvCell[]): SourceRecord {
  const fields = new Map(
    names.flatMap((name, at) => {
      const cell = cells[at];
      return cell ? [[name, { kind: 'cell', ...cell }] as const] : [];
    }),
  );
  const fault =
    cells.length > names.length ? `has ${cells.length} fields, the first line ${names.length}` : null;
  return { line, fields, fault };
}

async function* jsonRecords(source: Blob): AsyncGenerator<SourceRecord> {
  let rest = '';
  let line = 0;
  for await (const piece of piecesOf(source)) {
    const lines = (piece === null ? rest : rest + piece).split('\n');
    rest = piece === null ? '' : (lines.pop() ?? '');
    for (const text of lines) {
      line++;
      if (text.trim() !== '') yield jsonRecord(line, text);
    }
  }
}

function jsonRecord(line: number, text: string): SourceRecord {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Told below, like everything else that is no object.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { line, fields: new Map(), fault: 'is no JSON object' };
  }
  const fields = new Map([...membersOf(text)].map(([name, json]) => [name, { kind: 'json', json } as const]));
  return { line, fields, fault: null };
}

/** The text of a file piece by piece, and null behind the last. What is not UTF-8 is refused, never replaced. */
async function* piecesOf(source: Blob): AsyncGenerator<string | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = source.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    yield decoder.decode(value, { stream: true });
  }
  yield decoder.decode();
  yield null;
}
