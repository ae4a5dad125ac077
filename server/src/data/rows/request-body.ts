import { batchErrorsMax, batchLinesMax, jsonLinesMediaTypes, rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { FastPathRequest } from '../../http/handlers.ts';
import { type ByteBudget, type ByteReservation, readChunks } from '../../http/read-body.ts';
import type { BatchLimit } from './data-schema.ts';
import { isProblems, parseRowObject, type RowInput, type RowProblem, rowProblemsError } from './parse-row.ts';
import type { RowTable } from './row-table.ts';

export type RequestBody = ReturnType<typeof createRequestBody>;

export function createRequestBody(
  request: FastPathRequest,
  deps: { batchLimit: BatchLimit; budget: ByteBudget },
  callerId: string,
) {
  let reservation: ByteReservation | undefined;
  let body: ReceivedBody | undefined;
  let counted: Promise<void> | undefined;
  return {
    get isJsonLines(): boolean {
      return jsonLinesMediaTypes.includes(contentType(request));
    },
    async receive(bytesMax: number): Promise<void> {
      reservation = deps.budget.open(callerId);
      body = await receiveBody(request, bytesMax, reservation);
      if (this.isJsonLines || body.size > rowBytesMax) await reservation.reserve(body.size);
    },
    received(): ReceivedBody {
      if (!body) throw new Error('receive() was not called.');
      return body;
    },
    countAsBatch: (appId: string): Promise<void> => {
      counted ??= deps.batchLimit(appId);
      return counted;
    },
    close: () => reservation?.close(),
  };
}

function contentType(request: FastPathRequest): string {
  const header = request.headers.get('content-type') ?? '';
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

const otherCharset = /;\s*charset\s*=\s*"?(?!utf-8)/i;

async function receiveBody(
  request: FastPathRequest,
  bytesMax: number,
  reservation: ByteReservation,
): Promise<ReceivedBody> {
  const type = contentType(request);
  const isSupported = type === 'application/json' || jsonLinesMediaTypes.includes(type);
  if (!isSupported || otherCharset.test(request.headers.get('content-type') ?? '')) {
    throw fail('unsupported_media_type', {
      detail: 'Send one row as application/json or many as application/x-ndjson, in UTF-8.',
    });
  }
  const { chunks, size } = await readChunks(request, { bytesMax, budget: reservation });
  return new ReceivedBody(chunks, size);
}

/** A large body is processed in pieces of about this size, so that other requests are served in between. */
export const pieceBytes = 64 * 1024;
const newline = 0x0a;

export class ReceivedBody {
  readonly #chunks: readonly Uint8Array[];
  readonly size: number;

  constructor(chunks: readonly Uint8Array[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static of(text: string): ReceivedBody {
    const bytes = Buffer.from(text);
    return new ReceivedBody([bytes], bytes.length);
  }

  text(): string {
    return decode(this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks), 'whole');
  }

  *pieces(): Generator<string> {
    let rest: Uint8Array[] = [];
    let position: 'first' | 'later' = 'first';
    for (const chunk of this.#chunks) {
      for (let at = 0; at < chunk.length; at += pieceBytes) {
        const part = chunk.subarray(at, at + pieceBytes);
        const end = part.lastIndexOf(newline) + 1;
        if (end === 0) {
          rest.push(part);
          continue;
        }
        yield decode(Buffer.concat([...rest, part.subarray(0, end)]), position);
        position = 'later';
        rest = end === part.length ? [] : [part.subarray(end)];
      }
    }
    if (rest.length > 0) yield decode(Buffer.concat(rest), position);
  }

  sha256(): string {
    const hasher = new Bun.CryptoHasher('sha256');
    for (const chunk of this.#chunks) hasher.update(chunk);
    return hasher.digest('hex');
  }
}

/** A byte order mark is removed at the start of the body only. */
const decoder = new TextDecoder('utf-8', { fatal: true });
const decoderKeepingBom = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array | undefined, position: 'whole' | 'first' | 'later'): string {
  try {
    return (position === 'later' ? decoderKeepingBom : decoder).decode(bytes);
  } catch (error) {
    throw fail('malformed_json', { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
}

export interface RowLine {
  line: number;
  row: RowInput;
}

type LineProblem = RowProblem & { line: number };

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
