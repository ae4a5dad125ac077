import { toJson } from './encode.ts';
import { SvcBatchError, SvcError } from './errors.ts';
import type { CallOptions, Place } from './query.ts';
import { randomText } from './random-text.ts';
import { readJson } from './read-json.ts';

export interface BatchOptions extends CallOptions {
  /** The column, or columns, that a unique constraint covers: rows that are there already are told by these. */
  onConflict?: string | readonly string[];
  /** `merge` changes the row that is there, `ignore` leaves it. Without one a conflict refuses the batch. */
  resolution?: 'merge' | 'ignore';
  /** Rows in a batch: 1,000 unless said, 10,000 at most. */
  batchSize?: number;
  /** Called after each batch with what is stored so far. */
  onBatch?: (inserted: number) => void;
}

export interface BatchResult {
  inserted: number;
  /** Rows that were there and were changed, with `resolution: 'merge'`. */
  updated: number;
  /** In the order of the rows. */
  ids: (string | number | null)[];
}

const batchSizeDefault = 1_000;
const batchSizeMax = 10_000;
/** Below the server's limit, and as much as one would like to send twice. */
const batchBytesMax = 8 * 1024 * 1024;

export async function insertBatches(
  place: Place,
  rows: Iterable<object> | AsyncIterable<object>,
  options: BatchOptions,
): Promise<BatchResult> {
  const done: BatchResult = { inserted: 0, updated: 0, ids: [] };
  let linesBefore = 0;
  for await (const { lines, body } of batchesOf(rows, options.batchSize ?? batchSizeDefault)) {
    const {
      inserted,
      updated = 0,
      ids,
    } = await send(place, body, options).catch((error: unknown) => {
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

async function* batchesOf(rows: Iterable<object> | AsyncIterable<object>, batchSize: number) {
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > batchSizeMax)
    throw new RangeError(`batchSize is a whole number from 1 to ${batchSizeMax}.`);
  const encoder = new TextEncoder();
  let lines: Uint8Array[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const line = encoder.encode(`${toJson(row)}\n`);
    if (lines.length === batchSize || (lines.length > 0 && bytes + line.length > batchBytesMax)) {
      yield { lines: lines.length, body: joined(lines, bytes) };
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  if (lines.length > 0) yield { lines: lines.length, body: joined(lines, bytes) };
}

function send(place: Place, body: Uint8Array<ArrayBuffer>, options: BatchOptions) {
  const { onConflict, resolution, signal } = options;
  const headers: Record<string, string> = {
    'content-type': 'application/x-ndjson',
    'idempotency-key': randomText(),
  };
  if (resolution !== undefined) headers.prefer = `resolution=${resolution}-duplicates`;
  return place.transport.exchange(
    {
      method: 'POST',
      path: place.path,
      query: onConflict === undefined ? [] : [['on_conflict', [onConflict].flat().join(',')]],
      headers,
      body,
      onFault: 'repeat',
      signal,
    },
    readJson<Omit<BatchResult, 'updated'> & { updated?: number }>,
  );
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
