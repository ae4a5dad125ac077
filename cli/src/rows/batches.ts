import { ProblemError } from '@svc/contract/client.ts';
import type { FileRecord } from '@svc/contract/csv.ts';
import { withoutMembers } from '@svc/contract/json.ts';
import { batchBytesMax } from '@svc/contract/rows.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import {
  type Convert,
  type Converted,
  type LineFault,
  rejectedLinesError,
  type SourceRow,
} from './convert-record.ts';
import { generatedColumns, type ImportJob, ignoredNote } from './import-state.ts';
import type { Stored } from './send-batch.ts';

export interface Batch {
  number: number;
  rows: SourceRow[];
  faults: BadLine[];
  records: number;
  sha256: string;
  end: number;
}

export interface BadLine {
  fault: LineFault;
  text: string;
}

/** Below the server's limit; a single line that is longer is rejected by the server. */
const bytesMax = batchBytesMax - 1024 * 1024;

export interface BatchLimits {
  lines: number;
  firstRecords?: number | undefined;
}

export interface BatchStart {
  batches: number;
  hasher: Bun.CryptoHasher;
}

export async function* batches(
  records: AsyncIterable<FileRecord[]>,
  convert: Convert,
  limits: BatchLimits,
  start: BatchStart = { batches: 0, hasher: new Bun.CryptoHasher('sha256') },
): AsyncGenerator<Batch> {
  const { hasher } = start;
  let { batches: number } = start;
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

/** Only the bytes of the record count: files with LF and CRLF line breaks have the same digest. */
export function addRecord(hasher: Bun.CryptoHasher, { bytes }: FileRecord): void {
  hasher.update(bytes);
  hasher.update('\n');
}

function sizeOf(converted: Converted | null): number {
  return converted === null || 'fault' in converted ? 0 : Buffer.byteLength(converted.json) + 1;
}

function emptyBatch(number: number): Batch {
  return { number, rows: [], faults: [], records: 0, sha256: '', end: 0 };
}

export async function* readAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = items.next();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = items.next();
      // Reported when it is awaited.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    // The result is not awaited, because standard input may never end.
    items.return(undefined).catch(() => undefined);
  }
}

interface Delivery {
  ctx: Ctx;
  job: Pick<ImportJob, 'skip'>;
  ignored: Set<string>;
  /** A retry must skip the same lines, because the Idempotency-Key is derived from the body. */
  leftOut: ReadonlySet<number>;
  send(body: string, leftOut: readonly number[]): Promise<Stored>;
  bad(lines: readonly BadLine[]): Promise<void>;
  advice: string;
}

export async function deliverBatch(delivery: Delivery, batch: Batch): Promise<Stored> {
  const { ctx, job, ignored } = delivery;
  let rows = batch.rows.filter(({ line }) => !delivery.leftOut.has(line));
  const leftOut = [...delivery.leftOut];
  const faulty = batch.faults.filter(({ fault }) => !delivery.leftOut.has(fault.line));
  if (faulty.length > 0) {
    if (job.skip === null)
      throw rejectedLinesError(faulty.map(({ fault }) => fault).slice(0, 100), delivery.advice);
    await delivery.bad(faulty);
    leftOut.push(...faulty.map(({ fault }) => fault.line));
  }
  while (rows.length > 0) {
    const sent = rows;
    try {
      return await delivery.send(batchBody(sent, ignored), leftOut);
    } catch (cause) {
      if (!(cause instanceof ProblemError)) throw cause;
      const faults = fileFaults(cause, sent);
      if (faults.length === 0) throw cause;
      const generated = [...new Set(faults.filter(isGeneratedColumn).map(({ column = '' }) => column))];
      const fresh = generated.filter((column) => !ignored.has(column));
      if (fresh.length > 0) {
        for (const column of fresh) ignored.add(column);
        ctx.note(ignoredNote(fresh));
        continue;
      }
      if (job.skip === null)
        throw new AdvisedProblemError({ ...cause.problem, ...renumberFaults(faults) }, delivery.advice);
      const lines = new Set(faults.map(({ line }) => line));
      rows = sent.filter(({ line }) => !lines.has(line));
      leftOut.push(...lines);
      await delivery.bad(faults.map((fault) => ({ fault, text: lineText(sent, fault.line) })));
    }
  }
  return { inserted: 0, updated: 0 };
}

function batchBody(rows: readonly SourceRow[], ignored: ReadonlySet<string>): string {
  let body = '';
  for (const { json } of rows) body += `${ignored.size === 0 ? json : withoutMembers(json, ignored)}\n`;
  return body;
}

function fileFaults({ problem }: ProblemError, sent: readonly SourceRow[]): LineFault[] {
  return (problem.errors ?? []).flatMap((item) => {
    const line = item.line === undefined ? undefined : sent[item.line - 1]?.line;
    return line === undefined ? [] : [{ ...item, line }];
  });
}

function isGeneratedColumn({ code, column }: LineFault): boolean {
  return code === 'read_only' && column !== undefined && generatedColumns.includes(column);
}

function lineText(rows: readonly SourceRow[], line: number): string {
  return rows.find((row) => row.line === line)?.text ?? '';
}

function renumberFaults(faults: readonly LineFault[]) {
  const [first] = faults;
  const where = first?.column === undefined ? '' : ` ${first.column}`;
  return { detail: `line ${first?.line}:${where} ${first?.detail}`, errors: [...faults] };
}
