import { batchBytesMax, batchLinesMax } from '@svc/contract/rows.ts';
import { toJson } from './encode.ts';
import { SvcBatchError, SvcError } from './errors.ts';
import type { CallOptions, TableTarget } from './query.ts';
import { randomText } from './random-text.ts';
import { readJson } from './read-json.ts';
import { batchCall, type QueryPair } from './rows.ts';

export interface BatchOptions extends CallOptions {
  /** Column or columns of a unique constraint that identify existing rows. */
  onConflict?: string | readonly string[];
  /**
   * `merge` updates an existing row, `ignore` leaves it unchanged. Without a resolution, a conflict rejects the
   * batch.
   */
  resolution?: 'merge' | 'ignore';
  /** Rows per batch: 1,000 by default, at most 10,000. */
  batchSize?: number;
  onBatch?: (inserted: number) => void;
}

export interface BatchResult {
  inserted: number;
  updated: number;
  ids: (string | number | null)[];
}

const batchSizeDefault = 1_000;
/** Half of the server's limit: less to send again. */
const bytesMax = batchBytesMax / 2;

export async function insertBatches(
  target: TableTarget,
  rows: Iterable<object> | AsyncIterable<object>,
  options: BatchOptions,
): Promise<BatchResult> {
  const done: BatchResult = { inserted: 0, updated: 0, ids: [] };
  let linesBefore = 0;
  for await (const { lines, body } of cutBatches(rows, options.batchSize ?? batchSizeDefault)) {
    const {
      inserted,
      updated = 0,
      ids,
    } = await send(target, body, options).catch((error: unknown) => {
      if (!(error instanceof SvcError)) throw error;
      throw new SvcBatchError(error, { inserted: done.inserted, linesBefore });
    });
    linesBefore += lines;
    done.inserted += inserted;
    done.updated += updated;
    for (const id of ids) done.ids.push(id);
    options.onBatch?.(done.inserted);
  }
  return done;
}

async function* cutBatches(rows: Iterable<object> | AsyncIterable<object>, batchSize: number) {
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > batchLinesMax)
    throw new RangeError(`batchSize is a whole number from 1 to ${batchLinesMax}.`);
  const encoder = new TextEncoder();
  let lines: Uint8Array[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const line = encoder.encode(`${toJson(row)}\n`);
    if (lines.length === batchSize || (lines.length > 0 && bytes + line.length > bytesMax)) {
      yield { lines: lines.length, body: concatBytes(lines, bytes) };
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  if (lines.length > 0) yield { lines: lines.length, body: concatBytes(lines, bytes) };
}

function send(target: TableTarget, body: Uint8Array<ArrayBuffer>, options: BatchOptions) {
  const { onConflict, resolution, signal } = options;
  const call = batchCall({ body, key: randomText() });
  const headers = { ...call.headers };
  if (resolution !== undefined) headers.prefer = `resolution=${resolution}-duplicates`;
  const query: QueryPair[] = onConflict === undefined ? [] : [['on_conflict', [onConflict].flat().join(',')]];
  return target.transport.exchange(
    { method: 'POST', path: target.path, query, headers, body, onFault: 'repeat', signal },
    readJson<Omit<BatchResult, 'updated'> & { updated?: number }>,
  );
}

function concatBytes(parts: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
