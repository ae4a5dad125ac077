import { ProblemError } from '@svc/contract/client.ts';
import { batchBytesMax, batchErrorsMax, batchLinesMax } from '@svc/contract/rows.ts';
import { newKey } from '../../../../api/new-key.ts';
import { insertLines, type Resolution } from '../data/rows-api.ts';
import type { ColumnView } from '../use-table.ts';
import { type LineFault, type Mapping, rowLine } from './row-line.ts';
import type { SourceRecord } from './source-records.ts';

export interface ImportPlan {
  path: string;
  mapping: Mapping;
  columns: readonly ColumnView[];
  upsert: { on: string; resolution: Resolution } | null;
}

export interface ImportCount {
  inserted: number;
  updated: number;
}

/** Records of a file that were refused: none of their batch is stored, and nothing behind it was sent. */
export class RefusedLines extends Error {
  constructor(
    readonly faults: readonly LineFault[],
    readonly problem: unknown,
  ) {
    super('Some lines were refused.');
  }
}

/** Half of what the server takes at once: shorter to wait for, and less to send again. */
const linesMax = batchLinesMax / 2;
const bytesMax = batchBytesMax / 2;
const triesMax = 5;

/** In batches, each stored whole or not at all. Says after each how much is stored. */
export async function sendRecords(
  records: AsyncIterable<SourceRecord>,
  plan: ImportPlan,
  { signal, onStored }: { signal: AbortSignal; onStored: (count: ImportCount) => void },
): Promise<ImportCount> {
  const total: ImportCount = { inserted: 0, updated: 0 };
  let batch = newBatch();
  const flush = async () => {
    if (batch.faults.length > 0) throw new RefusedLines(batch.faults, null);
    if (batch.texts.length === 0) return;
    const { inserted, updated } = await sendBatch(batch, plan, signal);
    total.inserted += inserted;
    total.updated += updated;
    batch = newBatch();
    onStored({ ...total });
  };
  for await (const record of records) {
    signal.throwIfAborted();
    const line = rowLine(record, plan.mapping, plan.columns);
    if (!line.ok) {
      batch.faults.push(...line.faults.slice(0, batchErrorsMax - batch.faults.length));
      if (batch.faults.length >= batchErrorsMax) await flush();
      continue;
    }
    // A character is at most three bytes of UTF-8.
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
  /** Where each stands in the file. */
  lines: number[];
  bytes: number;
  faults: LineFault[];
}

const newBatch = (): Batch => ({ texts: [], lines: [], bytes: 0, faults: [] });

async function sendBatch(
  batch: Batch,
  { path, upsert }: ImportPlan,
  signal: AbortSignal,
): Promise<ImportCount> {
  // One key for all tries: what was stored and whose answer was lost is not stored twice.
  const key = newKey();
  for (let attempt = 1; ; attempt++) {
    try {
      return await insertLines(path, batch.texts.join('\n'), { key, upsert, signal });
    } catch (error) {
      const waitSeconds = error instanceof ProblemError ? error.retryAfterSeconds : null;
      if (waitSeconds === null || attempt === triesMax) throw inFile(error, batch);
      await wait(waitSeconds * 1000, signal);
    }
  }
}

/** The server counts the lines of the batch; people look for those of their file. */
function inFile(error: unknown, { lines }: Batch): unknown {
  const items = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
  const faults = items.flatMap(({ line, column, detail }) =>
    line === undefined ? [] : [{ line: lines[line - 1] ?? line, column: column ?? null, detail }],
  );
  return faults.length === 0 ? error : new RefusedLines(faults, error);
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
