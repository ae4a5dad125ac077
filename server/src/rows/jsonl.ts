import { batchErrorsMax, batchLinesMax, rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../plumbing/problem.ts';
import { type ItemError, isErrors, readObject, refused, type SentRow } from './read-row.ts';
import type { RowTable } from './row-table.ts';

/** One line's row; blank lines count as lines but hold none. */
export interface SentLine {
  line: number;
  row: SentRow;
}

export type LineError = ItemError & { line: number };

/** Reads lines piece by piece and collects what is wrong with them, up to as much as is told. */
export class LineReader {
  readonly errors: LineError[] = [];
  #line = 0;
  #rows = 0;

  read(table: RowTable, piece: string): SentLine[] {
    const rows: SentLine[] = [];
    for (let start = 0; start < piece.length && this.errors.length < batchErrorsMax; ) {
      const newline = piece.indexOf('\n', start);
      const end = newline < 0 ? piece.length : newline;
      this.#line++;
      const row = readLine(table, piece, start, end);
      start = end + 1;
      if (row === null) continue;
      if (++this.#rows > batchLinesMax) {
        throw fail('payload_too_large', { detail: `A batch is at most ${batchLinesMax} lines.` });
      }
      if (isErrors(row)) this.refuse(this.#line, row);
      else rows.push({ line: this.#line, row });
    }
    return rows;
  }

  refuse(line: number, found: readonly ItemError[]): void {
    for (const error of found) if (this.errors.length < batchErrorsMax) this.errors.push({ line, ...error });
  }

  /** All or nothing: one bad line refuses them all. */
  end(): void {
    if (this.errors.length > 0) throw refusedLines(this.errors.sort((a, b) => a.line - b.line));
    if (this.#rows === 0) throw fail('validation_failed', { detail: 'The body holds no row.' });
  }
}

function readLine(table: RowTable, body: string, start: number, end: number): SentRow | ItemError[] | null {
  if (isBlank(body, start, end)) return null;
  if (isTooLong(body, start, end))
    return [{ code: 'too_large', detail: `is longer than ${rowBytesMax} bytes` }];
  return readObject(table, body, start, end);
}

/** A UTF-16 unit takes at most three bytes, so most lines need no counting. */
function isTooLong(body: string, start: number, end: number): boolean {
  return (end - start) * 3 > rowBytesMax && Buffer.byteLength(body.slice(start, end)) > rowBytesMax;
}

/** A line that is no JSON is a bad line like any other. */
export function refusedLines(errors: readonly LineError[]) {
  const failure = refused(errors);
  return fail('validation_failed', {
    ...(failure.detail === undefined ? {} : { detail: failure.detail }),
    errors: [...errors],
  });
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}

/** Several objects, one per line, under a type that promises one: its first line is whole, and another follows. */
export function isSeveralLines(body: string): boolean {
  const text = body.trimStart();
  const newline = text.indexOf('\n');
  if (newline < 0) return false;
  const first = text.slice(0, newline).trim();
  return first.startsWith('{') && first.endsWith('}') && isObject(first) && text.slice(newline).trim() !== '';
}

function isObject(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
