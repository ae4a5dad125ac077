import { batchBytesMax } from '@svc/contract/rows.ts';
import type { Convert, Converted, SourceRow } from './convert-record.ts';
import type { SourceRecord } from './read-records.ts';
import type { LineFault } from './refused-lines.ts';

/** What is sent in one request, all or nothing. */
export interface Batch {
  /** From 1, since the beginning of the file. */
  number: number;
  rows: SourceRow[];
  faults: BadLine[];
  /** Records of the file that it takes, from where the one before it ended. */
  records: number;
  /** Of all records up to its end. */
  sha256: string;
  /** How far into the file it reaches. */
  end: number;
}

export interface BadLine {
  fault: LineFault;
  text: string;
}

/** With room to spare: a line that alone is longer is refused by itself. */
const bytesMax = batchBytesMax - 1024 * 1024;

export interface BatchLimits {
  lines: number;
  /** Of the first batch, where that was cut before. */
  firstRecords?: number | undefined;
}

/** Where an earlier run of the same import ended. */
export interface Begun {
  batches: number;
  hasher: Bun.CryptoHasher;
}

/** Cuts at a number of records or bytes, whichever comes first: the same file is always cut the same way. */
export async function* batches(
  records: AsyncIterable<SourceRecord[]>,
  convert: Convert,
  limits: BatchLimits,
  begun: Begun = { batches: 0, hasher: new Bun.CryptoHasher('sha256') },
): AsyncGenerator<Batch> {
  const { hasher } = begun;
  let { batches: number } = begun;
  let { firstRecords } = limits;
  let batch = emptyBatch(number + 1);
  let bytes = 0;
  for await (const piece of records) {
    for (const record of piece) {
      const converted = convert(record);
      const size = sizeOf(converted);
      const full =
        firstRecords === undefined
          ? batch.records >= limits.lines || (bytes + size > bytesMax && batch.records > 0)
          : batch.records >= firstRecords;
      if (full) {
        yield { ...batch, sha256: hasher.copy().digest('hex') };
        number += 1;
        firstRecords = undefined;
        batch = emptyBatch(number + 1);
        bytes = 0;
      }
      addRecord(hasher, record);
      batch.records += 1;
      batch.end = record.end;
      bytes += size;
      if (converted === null) continue;
      if ('fault' in converted) batch.faults.push(converted);
      else batch.rows.push(converted);
    }
  }
  if (batch.records > 0) yield { ...batch, sha256: hasher.copy().digest('hex') };
}

/** Line ends are no part of it: a file is the same with others. */
export function addRecord(hasher: Bun.CryptoHasher, { bytes }: SourceRecord): void {
  hasher.update(bytes);
  hasher.update('\n');
}

function sizeOf(converted: Converted | null): number {
  return converted === null || 'fault' in converted ? 0 : Buffer.byteLength(converted.json) + 1;
}

function emptyBatch(number: number): Batch {
  return { number, rows: [], faults: [], records: 0, sha256: '', end: 0 };
}

/** Makes the next one ready while the present one is dealt with. */
export async function* readAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = items.next();
      // Told when its turn comes.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    // Not waited for: standard input may stay silent for ever.
    items.return(undefined).catch(() => undefined);
  }
}
