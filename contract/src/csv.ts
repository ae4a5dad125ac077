/** RFC 4180. An empty field without quotes is null, `""` an empty text. */
export const rowFileFormats = ['jsonl', 'csv'] as const;
export type RowFileFormat = (typeof rowFileFormats)[number];

export type CsvField = string | null;

export interface FileRecord {
  line: number;
  bytes: Uint8Array;
  end: number;
}

export class RowFileError extends Error {
  constructor(
    readonly line: number,
    readonly code: 'too_long' | 'utf_16',
    message: string,
  ) {
    super(message);
    this.name = 'RowFileError';
  }
}

/** The server accepts far shorter rows, so a longer record has an unclosed quote or is not text. */
export const recordBytesMax = 4 * 1024 * 1024;

const newline = 10;
const carriageReturn = 13;
const comma = 44;
const quote = 34;

/** Both formats have an ASCII structure, so the bytes need no decoding. */
export async function* readRecords(
  chunks: AsyncIterable<Uint8Array>,
  format: RowFileFormat,
): AsyncGenerator<FileRecord[]> {
  let rest: Uint8Array = new Uint8Array(0);
  let restAt = 0;
  let line = 1;
  let started = false;

  for await (const chunk of chunks) {
    let bytes = rest.length === 0 ? chunk : join(rest, chunk);
    if (!started) {
      if (bytes.length < 3) {
        rest = bytes;
        continue;
      }
      started = true;
      const mark = byteOrderMarkLength(bytes);
      bytes = bytes.subarray(mark);
      restAt = mark;
    }
    const records = split(bytes);
    if (records.length > 0) yield records;
  }
  if (!started) yield split(rest);
  if (rest.length > 0) yield [{ line, bytes: withoutReturn(rest), end: restAt + rest.length }];

  function split(bytes: Uint8Array): FileRecord[] {
    const records: FileRecord[] = [];
    let start = 0;
    for (;;) {
      const found = format === 'csv' ? endOfCsvRecord(bytes, start) : endOfLine(bytes, start);
      if (found === null) break;
      records.push({
        line,
        bytes: withoutReturn(bytes.subarray(start, found.end)),
        end: restAt + found.end + 1,
      });
      line += found.lines;
      start = found.end + 1;
    }
    rest = bytes.subarray(start);
    restAt += start;
    if (rest.length > recordBytesMax) throw recordTooLongError(line, format);
    return records;
  }
}

interface RecordEnd {
  end: number;
  lines: number;
}

function endOfLine(bytes: Uint8Array, start: number): RecordEnd | null {
  const end = bytes.indexOf(newline, start);
  return end === -1 ? null : { end, lines: 1 };
}

/** Only a quote at the start of a field opens a quoted field, in which line ends are text. */
function endOfCsvRecord(bytes: Uint8Array, start: number): RecordEnd | null {
  const end = bytes.indexOf(newline, start);
  if (end === -1) return null;
  const quoteAt = bytes.indexOf(quote, start);
  if (quoteAt === -1 || quoteAt > end) return { end, lines: 1 };
  let lines = 1;
  let isQuoted = false;
  let isFieldStart = true;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isQuoted) {
      if (byte === newline) lines += 1;
      if (byte !== quote) continue;
      if (bytes[at + 1] === quote) at += 1;
      else isQuoted = false;
    } else if (byte === quote && isFieldStart) {
      isQuoted = true;
    } else if (byte === newline) {
      return { end: at, lines };
    }
    isFieldStart = byte === comma && !isQuoted;
  }
  return null;
}

function withoutReturn(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
}

function byteOrderMarkLength(bytes: Uint8Array): number {
  const [first, second, third] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new RowFileError(1, 'utf_16', 'The file is UTF-16.');
  return first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0;
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function recordTooLongError(line: number, format: RowFileFormat): Error {
  const hint = format === 'csv' ? '; is a quote not closed?' : '';
  return new RowFileError(line, 'too_long', `is longer than ${recordBytesMax / 1024 / 1024} MiB${hint}`);
}

export function parseCsvRecord(text: string): CsvField[] | string {
  const fields: CsvField[] = [];
  for (let at = 0; ; ) {
    if (text[at] === '"') {
      const end = endOfQuoted(text, at);
      if (end === -1) return 'has an unclosed quote';
      if (end < text.length && text[end] !== ',') return 'has text between a closing quote and the comma';
      fields.push(text.slice(at + 1, end - 1).replaceAll('""', '"'));
      at = end;
    } else {
      const comma = text.indexOf(',', at);
      const end = comma === -1 ? text.length : comma;
      const field = text.slice(at, end);
      if (field.includes('"')) return 'has a quote inside an unquoted field';
      fields.push(field === '' ? null : field);
      at = end;
    }
    if (at >= text.length) return fields;
    at += 1;
  }
}

export function csvRecord(fields: readonly CsvField[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

function csvField(field: CsvField): string {
  if (field === null) return '';
  return field === '' || /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at === -1) return -1;
    if (text[at + 1] !== '"') return at + 1;
  }
}
