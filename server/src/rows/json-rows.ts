import type { ColumnType } from '@svc/contract/columns.ts';
import type { OutputColumn } from './row-table.ts';

/**
 * Rows as PostgreSQL sends them (text format), written as JSON byte by byte. PostgreSQL can build the JSON itself, but
 * takes half as long again for it; and this way no digit passes through a JavaScript number either.
 */
export interface RowShape {
  /** `{"id":` of the first column, `,"title":` of the others. */
  keys: readonly Uint8Array[];
  types: readonly ColumnType[];
}

export function rowShape(columns: readonly OutputColumn[]): RowShape {
  return {
    keys: columns.map(({ key }, at) => Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(key)}:`)),
    types: columns.map(({ column }) => column.type),
  };
}

const quote = 0x22;
const backslash = 0x5c;
const closeBrace = 0x7d;
const nullBytes = Buffer.from('null');
const trueBytes = Buffer.from('true');
const falseBytes = Buffer.from('false');
const hex = Buffer.from('0123456789abcdef');
/** A number of so many characters is within 2^53 whatever it is. */
const safeDigits = 15;

export class JsonRows {
  bytes: Buffer;
  end = 0;

  constructor(bytesExpected: number) {
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

  /** Writes the first columns of a row as an object; returns where its next column begins. */
  row(shape: RowShape, row: Buffer, start: number): number {
    const { keys, types } = shape;
    // Behind the number of columns.
    let at = start + 2;
    for (let i = 0; i < types.length; i++) {
      const length =
        ((row[at] ?? 0) << 24) |
        ((row[at + 1] ?? 0) << 16) |
        ((row[at + 2] ?? 0) << 8) |
        (row[at + 3] ?? 0) |
        0;
      const from = at + 4;
      const to = from + (length < 0 ? 0 : length);
      const key = keys[i];
      const escapes = types[i] === 'text' ? escapesIn(row, from, to) : 0;
      this.#reserve((key?.length ?? 0) + (to - from) + escapes * 5 + 16);
      if (key) this.#put(key, 0, key.length);
      if (length < 0) this.#put(nullBytes, 0, 4);
      else this.#value(types[i] ?? 'text', row, from, to);
      at = to;
    }
    if (types.length === 0) this.text('{');
    this.byte(closeBrace);
    return at;
  }

  #value(type: ColumnType, row: Buffer, from: number, to: number): void {
    switch (type) {
      case 'text':
        this.#string(row, from, to);
        break;
      case 'int':
      case 'float':
      case 'jsonb':
        this.#put(row, from, to);
        break;
      case 'bigint':
        if (isSafe(row, from, to)) this.#put(row, from, to);
        else this.#quoted(row, from, to);
        break;
      case 'bool':
        if (row[from] === 0x74) this.#put(trueBytes, 0, 4);
        else this.#put(falseBytes, 0, 5);
        break;
      case 'uuid':
        this.#quoted(row, from, to);
        break;
      case 'timestamptz': {
        // `2026-01-02 03:04:05.6+00`: the session is in UTC.
        this.bytes[this.end++] = quote;
        const began = this.end;
        this.#put(row, from, to - 3);
        this.bytes[began + 10] = 0x54;
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

  #string(row: Buffer, from: number, to: number): void {
    const out = this.bytes;
    let end = this.end;
    out[end++] = quote;
    for (let at = from; at < to; at++) {
      const byte = row[at] ?? 0;
      if (byte >= 0x20 && byte !== quote && byte !== backslash) {
        out[end++] = byte;
        continue;
      }
      out[end++] = backslash;
      if (byte >= 0x20) {
        out[end++] = byte;
        continue;
      }
      out[end++] = 0x75;
      out[end++] = 0x30;
      out[end++] = 0x30;
      out[end++] = hex[byte >> 4] ?? 0;
      out[end++] = hex[byte & 15] ?? 0;
    }
    out[end++] = quote;
    this.end = end;
  }

  /** Short runs byte by byte: a call into native code costs more than they do. */
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
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.end + bytes));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }

  taken(): Buffer {
    return this.bytes.subarray(0, this.end);
  }
}

/** How many bytes are to be escaped, each to six at most; of short texts simply all of them. */
function escapesIn(row: Buffer, from: number, to: number): number {
  if (to - from <= 256) return to - from;
  let count = 0;
  for (let at = from; at < to; at++) {
    const byte = row[at] ?? 0;
    if (byte < 0x20 || byte === quote || byte === backslash) count++;
  }
  return count;
}

/** Whether a JSON number holds it in every client. */
function isSafe(row: Buffer, from: number, to: number): boolean {
  return to - from <= safeDigits || Number.isSafeInteger(Number(row.toString('latin1', from, to)));
}

/** The columns of a row from a place in it on, as text. */
export function valuesFrom(row: Buffer, at: number, count: number): (string | null)[] {
  const values: (string | null)[] = [];
  let place = at;
  for (let i = 0; i < count; i++) {
    const length = row.readInt32BE(place);
    place += 4;
    values.push(length < 0 ? null : row.toString('utf8', place, place + length));
    if (length > 0) place += length;
  }
  return values;
}
