import { describeColumnType, type JsonKind } from '@svc/contract/columns.ts';
import { csvRecord } from '@svc/contract/csv.ts';
import { csvMediaType, jsonLinesMediaType, noteHeader } from '@svc/contract/rows.ts';
import type { FastPathRequest } from '../../http/handlers.ts';
import type { ParsedQuery } from './parse-query.ts';
import type { Output, OutputColumn } from './row-table.ts';

/** JSON built by PostgreSQL takes half as long again, and parsing it here would lose digits of numbers. */
export interface RowShape {
  keys: readonly Uint8Array[];
  kinds: readonly JsonKind[];
}

export function rowShape(columns: readonly OutputColumn[]): RowShape {
  return {
    keys: columns.map(({ key }, at) => Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(key)}:`)),
    kinds: columns.map(({ column }) => jsonKind(column)),
  };
}

/** A masked column may have another type than its own. */
export function jsonKind({ type, json }: OutputColumn['column']): JsonKind {
  const usual = describeColumnType(type).json;
  return usual === 'number' ? (json ?? usual) : usual;
}

const quote = 0x22;
const backslash = 0x5c;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const nullBytes = Buffer.from('null');
const trueBytes = Buffer.from('true');
const falseBytes = Buffer.from('false');
const hex = Buffer.from('0123456789abcdef');
/** Numbers of up to 15 characters are within ±2^53. */
const safeDigits = 15;

export class JsonRows {
  readonly #bytesExpected: number;
  bytes: Buffer;
  end = 0;

  constructor(bytesExpected: number) {
    this.#bytesExpected = bytesExpected;
    this.bytes = Buffer.allocUnsafe(bytesExpected);
  }

  text(text: string): void {
    this.#reserve(text.length * 3);
    this.end += this.bytes.write(text, this.end);
  }

  byte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.end++] = byte;
  }

  row(shape: RowShape, row: Buffer, start: number): number {
    const { keys, kinds } = shape;
    let at = start + 2;
    for (let i = 0; i < kinds.length; i++) {
      const length =
        ((row[at] ?? 0) << 24) |
        ((row[at + 1] ?? 0) << 16) |
        ((row[at + 2] ?? 0) << 8) |
        (row[at + 3] ?? 0) |
        0;
      const from = at + 4;
      const to = from + (length < 0 ? 0 : length);
      const key = keys[i];
      const escapes = kinds[i] === 'string' || kinds[i] === 'strings' ? countEscapes(row, from, to) : 0;
      // Twice the length: an item of a list may get quotes.
      this.#reserve((key?.length ?? 0) + 2 * (to - from) + escapes * 5 + 16);
      if (key) this.#put(key, 0, key.length);
      if (length < 0) this.#put(nullBytes, 0, 4);
      else this.#value(kinds[i] ?? 'string', row, from, to);
      at = to;
    }
    if (kinds.length === 0) this.text('{');
    this.byte(closeBrace);
    return at;
  }

  #value(kind: JsonKind, row: Buffer, from: number, to: number): void {
    switch (kind) {
      case 'string':
        this.#string(row, from, to);
        break;
      case 'number':
        // `NaN` and `Infinity` of a connector.
        if (isDigit(row[to - 1])) this.#put(row, from, to);
        else this.#quoted(row, from, to);
        break;
      case 'json':
        this.#put(row, from, to);
        break;
      case 'integer':
        if (isDigit(row[to - 1]) && isSafeNumber(row, from, to)) this.#put(row, from, to);
        else this.#quoted(row, from, to);
        break;
      case 'boolean':
        if (row[from] === 0x74 || row[from] === 0x31) this.#put(trueBytes, 0, 4);
        else this.#put(falseBytes, 0, 5);
        break;
      case 'token':
      case 'decimal':
        this.#quoted(row, from, to);
        break;
      case 'numbers':
        this.bytes[this.end++] = openBracket;
        this.#put(row, from + 1, to - 1);
        this.bytes[this.end++] = closeBracket;
        break;
      case 'strings':
        this.#strings(row, from, to);
        break;
      case 'timestamp': {
        // A year of five digits, before Christ or infinity, of a connector.
        if (row[from + 10] !== 0x20) {
          this.#quoted(row, from, to);
          break;
        }
        // `2026-01-02 03:04:05.6+00`: sessions use UTC.
        this.bytes[this.end++] = quote;
        const valueStart = this.end;
        this.#put(row, from, to - 3);
        this.bytes[valueStart + 10] = 0x54;
        this.bytes[this.end++] = 0x5a;
        this.bytes[this.end++] = quote;
      }
    }
  }

  #quoted(from: Uint8Array, start: number, stop: number): void {
    this.bytes[this.end++] = quote;
    this.#put(from, start, stop);
    this.bytes[this.end++] = quote;
  }

  /** `{a,"b c","\\""}` of PostgreSQL, which quotes an item where it must, and escapes `"` and `\` in it by `\`. */
  #strings(row: Buffer, from: number, to: number): void {
    this.bytes[this.end++] = openBracket;
    let at = from + 1;
    while (at < to - 1) {
      if (at > from + 1) this.bytes[this.end++] = comma;
      const isQuoted = row[at] === quote;
      if (isQuoted) at++;
      this.bytes[this.end++] = quote;
      for (; at < to - 1; at++) {
        let byte = row[at] ?? 0;
        if (byte === (isQuoted ? quote : comma)) break;
        if (isQuoted && byte === backslash) byte = row[++at] ?? 0;
        this.#char(byte);
      }
      this.bytes[this.end++] = quote;
      at += isQuoted ? 2 : 1;
    }
    this.bytes[this.end++] = closeBracket;
  }

  #char(byte: number): void {
    if (byte < 0x20 || byte === quote || byte === backslash)
      this.end = escapeByte(this.bytes, this.end, byte);
    else this.bytes[this.end++] = byte;
  }

  #string(row: Buffer, from: number, to: number): void {
    const out = this.bytes;
    let end = this.end;
    out[end++] = quote;
    for (let at = from; at < to; at++) {
      const byte = row[at] ?? 0;
      if (byte >= 0x20 && byte !== quote && byte !== backslash) out[end++] = byte;
      else end = escapeByte(out, end, byte);
    }
    out[end++] = quote;
    this.end = end;
  }

  /** Byte by byte for short values, where a native call costs more. */
  #put(from: Uint8Array, start: number, stop: number): void {
    const out = this.bytes;
    let { end } = this;
    if (stop - start > 96) {
      out.set(from.subarray(start, stop), end);
      this.end = end + (stop - start);
      return;
    }
    for (let at = start; at < stop; at++) out[end++] = from[at] ?? 0;
    this.end = end;
  }

  #reserve(bytes: number): void {
    if (this.end + bytes <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.end + bytes, this.#bytesExpected));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }

  written(): Buffer {
    return this.bytes.subarray(0, this.end);
  }

  /** Returns the bytes, which are not written to again. */
  take(): Buffer {
    const taken = this.written();
    const { length } = this.bytes;
    // The rest of a large row would keep all of its memory.
    const hasRoom = length <= this.#bytesExpected && this.end * 2 < length;
    this.bytes = hasRoom ? this.bytes.subarray(this.end) : Buffer.allocUnsafe(this.#bytesExpected);
    this.end = 0;
    return taken;
  }
}

function escapeByte(out: Buffer, start: number, byte: number): number {
  let end = start;
  out[end++] = backslash;
  if (byte >= 0x20) {
    out[end++] = byte;
    return end;
  }
  out[end++] = 0x75;
  out[end++] = 0x30;
  out[end++] = 0x30;
  out[end++] = hex[byte >> 4] ?? 0;
  out[end++] = hex[byte & 15] ?? 0;
  return end;
}

/** Upper bound of bytes to escape (each becomes six at most); for short texts the length. */
function countEscapes(row: Buffer, from: number, to: number): number {
  if (to - from <= 256) return to - from;
  let count = 0;
  for (let at = from; at < to; at++) {
    const byte = row[at] ?? 0;
    if (byte < 0x20 || byte === quote || byte === backslash) count++;
  }
  return count;
}

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;

function isSafeNumber(row: Buffer, from: number, to: number): boolean {
  return to - from <= safeDigits || Number.isSafeInteger(Number(row.toString('latin1', from, to)));
}

export function readValues(row: Buffer, at: number, count: number): (string | null)[] {
  const values: (string | null)[] = [];
  let offset = at;
  for (let i = 0; i < count; i++) {
    const length = row.readInt32BE(offset);
    offset += 4;
    values.push(length < 0 ? null : row.toString('utf8', offset, offset + length));
    if (length > 0) offset += length;
  }
  return values;
}

type RowFormat = 'json' | 'jsonl' | 'csv';
export type PageFormat = Exclude<RowFormat, 'jsonl'>;

/** The format with the highest weight in `Accept`; JSON only if no other has the same. */
export function preferredFormat(request: FastPathRequest): RowFormat {
  const accept = request.headers.get('accept');
  if (accept === null || !(accept.includes(jsonLinesMediaType) || accept.includes(csvMediaType)))
    return 'json';
  const weights = new Map(
    accept.split(',').map((item) => {
      const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [type, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  const [lines, csv, json] = [jsonLinesMediaType, csvMediaType, 'application/json'].map(
    (type) => weights.get(type) ?? 0,
  ) as [number, number, number];
  if (lines > 0 && lines >= Math.max(json, csv)) return 'jsonl';
  return csv > 0 && csv >= json ? 'csv' : 'json';
}

export const hasPaging = (search: string) => /(?:^|&)(?:page|per_page|cursor)=/.test(search);

export const csvHeaders = { 'content-type': `${csvMediaType}; charset=utf-8; header=present` };

export const csvHeader = ({ columns }: Output) => csvRecord(columns.map(({ key }) => key));

/** Notes are sent in ASCII: column names of other databases may have any character. */
export function noteHeaders({ notes }: ParsedQuery): Record<string, string> | undefined {
  if (notes.length === 0) return undefined;
  const text = notes.slice(0, notesMax).join(' ');
  return { [noteHeader]: text.replace(/[^\x20-\x7e]/g, encodeURIComponent) };
}

const notesMax = 5;

/** Rows in the CSV of imports: null is an empty field, an empty text `""`, and JSON its text. */
export class CsvRows extends JsonRows {
  override row({ kinds }: RowShape, row: Buffer, start: number): number {
    let at = start + 2;
    const fields = kinds.map((kind) => {
      const length = row.readInt32BE(at);
      at += 4;
      if (length < 0) return null;
      const text = row.toString('utf8', at, at + length);
      at += length;
      if (kind === 'boolean') return text === 't' || text === '1' ? 'true' : 'false';
      // `2026-01-02 03:04:05.6+00`: sessions use UTC.
      if (kind === 'timestamp' && text[10] === ' ') return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`;
      return text;
    });
    this.text(csvRecord(fields));
    return at;
  }
}
