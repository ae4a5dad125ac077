import { usage } from '../errors.ts';
import { refusedLines } from './refused-lines.ts';

export const importFormats = ['jsonl', 'csv'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** A line of JSON, or a record of CSV, which may go over several lines. */
export interface SourceRecord {
  /** On which it begins, from 1. */
  line: number;
  /** Without its line end. */
  bytes: Uint8Array;
  /** How far into the file it reaches. */
  end: number;
}

/** Of a record; the server takes far less, so that what is longer is a quote never closed, or no text at all. */
export const recordBytesMax = 4 * 1024 * 1024;

const newline = 10;
const carriageReturn = 13;
const comma = 44;
const quote = 34;

/**
 * Splits a file of any size, holding no more than a piece and the record that goes over its end. All that structures
 * either format is ASCII, so that bytes can be looked at without decoding them.
 */
export async function* readRecords(
  chunks: AsyncIterable<Uint8Array>,
  format: ImportFormat,
): AsyncGenerator<SourceRecord[]> {
  let rest: Uint8Array = new Uint8Array(0);
  let restAt = 0;
  let line = 1;
  let begun = false;

  for await (const chunk of chunks) {
    let bytes = rest.length === 0 ? chunk : join(rest, chunk);
    if (!begun) {
      if (bytes.length < 3) {
        rest = bytes;
        continue;
      }
      begun = true;
      const mark = byteOrderMark(bytes);
      bytes = bytes.subarray(mark);
      restAt = mark;
    }
    const records = split(bytes);
    if (records.length > 0) yield records;
  }
  // A file of a byte or two has met its end before it could be told by what it begins.
  if (!begun) yield split(rest);
  if (rest.length > 0) yield [{ line, bytes: withoutReturn(rest), end: restAt + rest.length }];

  /** The whole records of these bytes; what is left of them is kept. */
  function split(bytes: Uint8Array): SourceRecord[] {
    const records: SourceRecord[] = [];
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
    if (rest.length > recordBytesMax) throw tooLong(line, format);
    return records;
  }
}

interface Found {
  /** Where its line end is. */
  end: number;
  lines: number;
}

function endOfLine(bytes: Uint8Array, start: number): Found | null {
  const end = bytes.indexOf(newline, start);
  return end === -1 ? null : { end, lines: 1 };
}

/** A quote counts as one where a field begins with it; inside such a field line ends are text. */
function endOfCsvRecord(bytes: Uint8Array, start: number): Found | null {
  const end = bytes.indexOf(newline, start);
  if (end === -1) return null;
  const quoteAt = bytes.indexOf(quote, start);
  if (quoteAt === -1 || quoteAt > end) return { end, lines: 1 };
  let lines = 1;
  let quoted = false;
  let fieldBegins = true;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (quoted) {
      if (byte === newline) lines += 1;
      if (byte !== quote) continue;
      if (bytes[at + 1] === quote) at += 1;
      else quoted = false;
    } else if (byte === quote && fieldBegins) {
      quoted = true;
    } else if (byte === newline) {
      return { end: at, lines };
    }
    fieldBegins = byte === comma && !quoted;
  }
  return null;
}

function withoutReturn(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
}

/** How many bytes it takes. */
function byteOrderMark(bytes: Uint8Array): number {
  const [first, second, third] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw usage('The file is UTF-16.', 'Convert it to UTF-8.');
  return first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0;
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

function tooLong(line: number, format: ImportFormat): Error {
  const why = format === 'csv' ? '; is a quote not closed?' : '';
  return refusedLines(
    [{ line, code: 'too_long', detail: `is longer than ${recordBytesMax / 1024 / 1024} MiB${why}` }],
    'Correct the file.',
  );
}
