import { batchErrorsMax, batchLinesMax, rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import { isProblems, parseRowObject, type RowInput, type RowProblem, rowProblemsError } from './parse-row.ts';
import type { RowTable } from './row-table.ts';

export interface RowLine {
  line: number;
  row: RowInput;
}

export type LineProblem = RowProblem & { line: number };

export class LineReader {
  readonly errors: LineProblem[] = [];
  #line = 0;
  #rows = 0;

  read(table: RowTable, piece: string): RowLine[] {
    const rows: RowLine[] = [];
    for (let start = 0; start < piece.length && this.errors.length < batchErrorsMax; ) {
      const newline = piece.indexOf('\n', start);
      const end = newline < 0 ? piece.length : newline;
      this.#line++;
      const row = parseLine(table, piece, start, end);
      start = end + 1;
      if (row === null) continue;
      if (++this.#rows > batchLinesMax) {
        throw fail('payload_too_large', { detail: `A batch can have at most ${batchLinesMax} lines.` });
      }
      if (isProblems(row)) this.addProblems(this.#line, row);
      else rows.push({ line: this.#line, row });
    }
    return rows;
  }

  addProblems(line: number, found: readonly RowProblem[]): void {
    for (const error of found) if (this.errors.length < batchErrorsMax) this.errors.push({ line, ...error });
  }

  end(): void {
    if (this.errors.length > 0) throw linesError(this.errors.sort((a, b) => a.line - b.line));
    if (this.#rows === 0) throw fail('validation_failed', { detail: 'The body contains no row.' });
  }
}

function parseLine(
  table: RowTable,
  body: string,
  start: number,
  end: number,
): RowInput | RowProblem[] | null {
  if (isBlank(body, start, end)) return null;
  if (isTooLong(body, start, end))
    return [{ code: 'too_large', detail: `is longer than ${rowBytesMax} bytes` }];
  return parseRowObject(table, body, start, end);
}

/** A UTF-16 unit takes at most three bytes, so most lines need no exact count. */
function isTooLong(body: string, start: number, end: number): boolean {
  return (end - start) * 3 > rowBytesMax && Buffer.byteLength(body.slice(start, end)) > rowBytesMax;
}

export function linesError(errors: readonly LineProblem[]) {
  return fail('validation_failed', { detail: rowProblemsError(errors).detail, errors: [...errors] });
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}

export function hasSeveralObjects(body: string): boolean {
  const text = body.trimStart();
  const newline = text.indexOf('\n');
  if (newline < 0) return false;
  const first = text.slice(0, newline).trim();
  return first.startsWith('{') && first.endsWith('}') && isJson(first) && text.slice(newline).trim() !== '';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
