import { ProblemError } from '@svc/contract/client.ts';
import { batchBytesMax, batchErrorsMax, batchLinesMax } from '@svc/contract/rows.ts';
import { type Conflict, insertBatch } from '@svc/sdk/rows.ts';
import { randomKey } from '../../../../api/client.ts';
import { rowsAt } from '../data/rows-api.ts';
import type { ColumnView } from '../use-table.ts';
import { type ImportRecord, type LineError, type Mapping, toJsonLine } from './records.ts';

interface ImportPlan {
  path: string;
  mapping: Mapping;
  columns: readonly ColumnView[];
  conflict: Conflict | null;
}

export interface ImportCount {
  inserted: number;
  updated: number;
}

export class RejectedLinesError extends Error {
  constructor(
    readonly faults: readonly LineError[],
    readonly problem: unknown,
  ) {
    super('Some lines were rejected.');
  }
}

/** Half of the server's limits: shorter waits and less to resend. */
const linesMax = batchLinesMax / 2;
const bytesMax = batchBytesMax / 2;
const retriesMax = 4;

export async function sendRecords(
  records: AsyncIterable<ImportRecord>,
  plan: ImportPlan,
  { signal, onStored }: { signal: AbortSignal; onStored: (count: ImportCount) => void },
): Promise<ImportCount> {
  const total: ImportCount = { inserted: 0, updated: 0 };
  let batch = newBatch();
  const flush = async () => {
    if (batch.faults.length > 0) throw new RejectedLinesError(batch.faults, null);
    if (batch.texts.length === 0) return;
    const { inserted, updated } = await sendBatch(batch, plan, signal);
    total.inserted += inserted;
    total.updated += updated;
    batch = newBatch();
    onStored({ ...total });
  };
  for await (const record of records) {
    signal.throwIfAborted();
    const line = toJsonLine(record, plan.mapping, plan.columns);
    if (!line.ok) {
      batch.faults.push(...line.faults.slice(0, batchErrorsMax - batch.faults.length));
      if (batch.faults.length >= batchErrorsMax) await flush();
      continue;
    }
    // A UTF-16 unit is at most three bytes of UTF-8.
    const bytes = line.text.length * 3;
    if (batch.texts.length >= linesMax || batch.bytes + bytes > bytesMax) await flush();
    batch.texts.push(line.text);
    batch.lines.push(record.line);
    batch.bytes += bytes;
  }
  await flush();
  return total;
}

interface Batch {
  texts: string[];
  lines: number[];
  bytes: number;
  faults: LineError[];
}

const newBatch = (): Batch => ({ texts: [], lines: [], bytes: 0, faults: [] });

async function sendBatch(
  batch: Batch,
  { path, conflict }: ImportPlan,
  signal: AbortSignal,
): Promise<ImportCount> {
  const rows = { body: batch.texts.join('\n'), key: randomKey(), conflict };
  const pause = (ms: number) => sleep(ms, signal);
  try {
    return await insertBatch(rowsAt(path), rows, { retriesMax, pause, signal: () => signal });
  } catch (error) {
    throw withFileLines(error, batch);
  }
}

/** The server counts lines of the batch, users count lines of the file. */
function withFileLines(error: unknown, { lines }: Batch): unknown {
  const items = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
  const faults = items.flatMap(({ line, column, detail }) =>
    line === undefined ? [] : [{ line: lines[line - 1] ?? line, column: column ?? null, detail }],
  );
  return faults.length === 0 ? error : new RejectedLinesError(faults, error);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
