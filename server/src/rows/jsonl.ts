import { batchErrorsMax, batchLinesMax, rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../plumbing/problem.ts';
import { type ItemError, isErrors, readObject, refused, type SentRow } from './read-row.ts';
import type { RowTable } from './row-table.ts';

/** A batch, line by line; blank lines count as lines but hold no row. */
export interface SentBatch {
  rows: SentRow[];
  /** The line of each row, from 1. */
  lines: number[];
}

export type LineError = ItemError & { line: number };

export function readLines(table: RowTable, body: string): SentBatch {
  const rows: SentRow[] = [];
  const lines: number[] = [];
  const errors: LineError[] = [];
  let line = 0;
  for (let start = 0; start < body.length && errors.length < batchErrorsMax; ) {
    const newline = body.indexOf('\n', start);
    const end = newline < 0 ? body.length : newline;
    line++;
    const read = readLine(table, body, start, end);
    start = end + 1;
    if (read === null) continue;
    if (rows.length >= batchLinesMax) {
      throw fail('payload_too_large', { detail: `A batch is at most ${batchLinesMax} lines.` });
    }
    lines.push(line);
    if (isErrors(read)) addErrors(errors, line, read);
    else rows.push(read);
  }
  if (errors.length > 0) throw refusedLines(errors);
  if (rows.length === 0) throw fail('validation_failed', { detail: 'The body holds no row.' });
  return { rows, lines };
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

export function addErrors(errors: LineError[], line: number, found: readonly ItemError[]): void {
  for (const error of found) if (errors.length < batchErrorsMax) errors.push({ line, ...error });
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

/** One object written over several lines. In JSON both characters are space between values and nowhere else allowed. */
export function asOneLine(body: string): string {
  return body.replaceAll('\n', '\r');
}

function isObject(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
