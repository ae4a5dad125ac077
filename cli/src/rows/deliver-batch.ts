import { ProblemError } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblem } from '../errors.ts';
import { withoutMembers } from '../exact-json.ts';
import type { BadLine, Batch } from './batches.ts';
import type { SourceRow } from './convert-record.ts';
import { type ImportJob, ignoredNote, keptColumns } from './import-job.ts';
import { type LineFault, refusedLines } from './refused-lines.ts';
import type { Stored } from './send-batch.ts';

/** What a batch needs to be stored: how it is sent, what is left out of it, what becomes of bad lines. */
export interface Delivery {
  ctx: Ctx;
  job: Pick<ImportJob, 'skip'>;
  ignored: Set<string>;
  /** Lines left out by an earlier run of the same batch, which must be left out again. */
  leftOut: ReadonlySet<number>;
  send(body: string, leftOut: readonly number[]): Promise<Stored>;
  /** Refuses when there are too many. */
  bad(lines: readonly BadLine[]): Promise<void>;
  /** What to do about lines that stop it. */
  advice: string;
}

/** Tries until the server takes the batch: without columns that are not to be set, and, if so asked, without bad lines. */
export async function deliverBatch(delivery: Delivery, batch: Batch): Promise<Stored> {
  const { ctx, job, ignored } = delivery;
  let rows = batch.rows.filter(({ line }) => !delivery.leftOut.has(line));
  const leftOut = [...delivery.leftOut];
  const faulty = batch.faults.filter(({ fault }) => !delivery.leftOut.has(fault.line));
  if (faulty.length > 0) {
    if (job.skip === null)
      throw refusedLines(faulty.map(({ fault }) => fault).slice(0, 100), delivery.advice);
    await delivery.bad(faulty);
    leftOut.push(...faulty.map(({ fault }) => fault.line));
  }
  while (rows.length > 0) {
    const sent = rows;
    try {
      return await delivery.send(bodyOf(sent, ignored), leftOut);
    } catch (cause) {
      if (!(cause instanceof ProblemError)) throw cause;
      const faults = faultsOf(cause, sent);
      if (faults.length === 0) throw cause;
      const kept = [...new Set(faults.filter(isKept).map(({ column = '' }) => column))];
      const fresh = kept.filter((column) => !ignored.has(column));
      if (fresh.length > 0) {
        for (const column of fresh) ignored.add(column);
        ctx.note(ignoredNote(fresh));
        continue;
      }
      if (job.skip === null)
        throw new AdvisedProblem({ ...cause.problem, ...whole(faults) }, delivery.advice);
      const lines = new Set(faults.map(({ line }) => line));
      rows = sent.filter(({ line }) => !lines.has(line));
      leftOut.push(...lines);
      await delivery.bad(faults.map((fault) => ({ fault, text: textOf(sent, fault.line) })));
    }
  }
  return { inserted: 0, updated: 0 };
}

function bodyOf(rows: readonly SourceRow[], ignored: ReadonlySet<string>): string {
  let body = '';
  for (const { json } of rows) body += `${ignored.size === 0 ? json : withoutMembers(json, ignored)}\n`;
  return body;
}

/** The lines that an answer names, as lines of the file. */
function faultsOf({ problem }: ProblemError, sent: readonly SourceRow[]): LineFault[] {
  return (problem.errors ?? []).flatMap((item) => {
    const line = item.line === undefined ? undefined : sent[item.line - 1]?.line;
    return line === undefined ? [] : [{ ...item, line }];
  });
}

function isKept({ code, column }: LineFault): boolean {
  return code === 'read_only' && column !== undefined && keptColumns.includes(column);
}

function textOf(rows: readonly SourceRow[], line: number): string {
  return rows.find((row) => row.line === line)?.text ?? '';
}

/** The server counted the lines of the batch; its text would name another line than the list. */
function whole(faults: readonly LineFault[]) {
  const [first] = faults;
  const where = first?.column === undefined ? '' : ` ${first.column}`;
  return { detail: `line ${first?.line}:${where} ${first?.detail}`, errors: [...faults] };
}
