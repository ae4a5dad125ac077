import { ProblemError } from '@svc/contract/client.ts';
import { batchErrorsMax } from '@svc/contract/rows.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblem, CliError } from '../errors.ts';
import { plain } from '../output.ts';
import type { RowsClient } from '../rows-client.ts';
import { openBadLines } from './bad-lines-file.ts';
import { type BadLine, type Batch, batches, readAhead } from './batches.ts';
import { deliverBatch } from './deliver-batch.ts';
import { endedNote, type ImportJob } from './import-job.ts';
import { openSource } from './import-source.ts';
import { type ImportState, type ImportStateFile, stateFileOf, type UnderWay } from './import-state.ts';
import { isRefusal } from './is-refusal.ts';
import { count, type Progress, startProgress } from './progress.ts';
import { refusedLines } from './refused-lines.ts';
import { resumePoint } from './resume-point.ts';
import { sendBatch } from './send-batch.ts';

/** Sends the file batch by batch, one after the other, writing down before each how far it has come. */
export async function importRows(ctx: Ctx, rows: RowsClient, job: ImportJob): Promise<Result> {
  const { source } = job;
  const stateFile = await stateFileOf(ctx, rows, source);
  const opened = await openSource(ctx, rows, source, { types: job.types, check: 'by the server' });
  const point = await resumePoint(opened, { job, before: stateFile.read(), now: ctx.io.now() });
  const { state } = point;
  const recordsBefore = state.records;
  const resumed = job.start === 'resume';
  const before = totalOf(state);
  if (resumed && point.finishedAt !== null) ctx.note(endedNote(point.finishedAt));
  else if (resumed) ctx.note(`Going on after ${count(state.records)} lines that are done.`);
  const badLines = await openBadLines(job.skip?.to ?? null, { header: opened.header, resumed });
  const progress = await startProgress(ctx, {
    doing: 'Importing',
    bytesTotal: source.bytes,
    rowsBefore: state.inserted + state.updated,
  });
  const run: Run = { ctx, rows, job, state, stateFile, progress, badLines, sent: 0 };
  const limits = { lines: job.batchSize, firstRecords: state.under_way?.records };
  const begun = { batches: state.batches, hasher: point.hasher };
  try {
    for await (const batch of readAhead(batches(point.records, opened.convert, limits, begun))) {
      await storeBatch(run, batch);
      progress.update({ rows: state.inserted + state.updated, bytes: batch.end });
    }
  } catch (cause) {
    await leaveOff(run, cause);
    throw advised(run, cause);
  } finally {
    progress.clear();
    await badLines.close();
  }
  const now = ctx.io.now();
  // One that had ended, to which nothing was added, ended when it did.
  if (point.finishedAt === null || state.records > recordsBefore) {
    state.finished_at = now.toISOString();
    await save(run, null);
  }
  stateFile.prune(now);
  return resultOf(job, state, before);
}

interface Run {
  ctx: Ctx;
  rows: RowsClient;
  job: ImportJob;
  state: ImportState;
  stateFile: ImportStateFile;
  progress: Progress;
  badLines: Awaited<ReturnType<typeof openBadLines>>;
  /** Batches that this run has stored. */
  sent: number;
}

async function storeBatch(run: Run, batch: Batch): Promise<void> {
  const { ctx, rows, job, state } = run;
  let before = state.under_way;
  const ignored = new Set(state.ignored_columns);
  const stored = await deliverBatch(
    {
      ctx,
      job,
      ignored,
      leftOut: new Set(before?.skipped_lines),
      advice: resumeAdvice(run),
      bad: (lines) => setAside(run, lines),
      send: async (body, leftOut) => {
        const key = keyOf(state, batch, body);
        if (before !== null && before.key !== key) throw otherLines(before);
        before = null;
        state.ignored_columns = [...ignored];
        await save(run, { records: batch.records, key, skipped_lines: [...leftOut] });
        const patience = run.sent > 0 ? 'some' : 'none';
        return sendBatch(ctx, rows, { body, key, conflict: job.conflict, patience });
      },
    },
    batch,
  );
  run.sent += 1;
  state.records += batch.records;
  state.batches = batch.number;
  state.sha256 = batch.sha256;
  state.inserted += stored.inserted;
  state.updated += stored.updated;
  state.under_way = null;
}

/** The same lines of the same import have the same key, in this run and in one that resumes it. */
function keyOf({ run }: ImportState, { number }: Batch, body: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(body).digest('hex');
  return `${run}.${number}.${hash.slice(0, 24)}`;
}

async function save({ ctx, state, stateFile }: Run, underWay: ImportState['under_way']): Promise<void> {
  state.under_way = underWay;
  state.updated_at = ctx.io.now().toISOString();
  await stateFile.write(state);
}

async function setAside(
  { ctx, job, state, progress, badLines }: Run,
  lines: readonly BadLine[],
): Promise<void> {
  const linesMax = job.skip?.linesMax ?? 0;
  progress.clear();
  for (const { fault } of lines) {
    if (state.errors.length >= batchErrorsMax) break;
    state.errors.push(fault);
    ctx.note(`Skipped line ${fault.line}: ${plain([fault.column, fault.detail].filter(Boolean).join(' '))}`);
  }
  await badLines.add(lines);
  state.skipped += new Set(lines.map(({ fault }) => fault.line)).size;
  if (state.skipped <= linesMax) return;
  throw refusedLines(
    lines.map(({ fault }) => fault),
    `These are more than ${count(linesMax)} bad lines; correct the file, or allow more with --max-bad-lines.`,
  );
}

/** Writes down where it ended; where nothing was stored, there is nothing to go on from. */
async function leaveOff(run: Run, cause: unknown): Promise<void> {
  const underWay = isRefusal(cause) ? null : run.state.under_way;
  if (run.state.records === 0 && underWay === null) run.stateFile.remove();
  else await save(run, underWay);
}

/** What ended it, with how to go on. */
function advised(run: Run, cause: unknown): unknown {
  if (cause instanceof AdvisedProblem) return cause;
  const next = resumeAdvice(run);
  if (cause instanceof ProblemError) {
    if (run.state.records === 0 && isFinal(cause)) return cause;
    const { retryAfterSeconds } = cause;
    const wait = retryAfterSeconds === null ? '' : `Wait ${retryAfterSeconds} s. `;
    return new AdvisedProblem(cause.problem, wait + next);
  }
  if (cause instanceof CliError && ['interrupted', 'no_connection', 'timeout'].includes(cause.code))
    return new CliError(cause.code, cause.message, { next, cause });
  return cause;
}

/** Refused for what it is, the table or a flag: the same again would be refused again. */
function isFinal({ problem: { status, code } }: ProblemError): boolean {
  return status < 500 && ![408, 429].includes(status) && code !== 'idempotency_in_progress';
}

/** Whether the lines that were being sent are stored can no longer be found out: with others the key is another. */
function otherLines({ records }: UnderWay): CliError {
  return new CliError(
    'import_unfinished',
    `The ${count(records)} lines that were being sent when the import ended are no longer what they were.`,
    {
      next: 'Restore them and use --resume; or look which rows are there, and import the rest as a file of its own.',
    },
  );
}

function resumeAdvice({ job, state }: Run): string {
  const isBegun = state.records > 0 || state.under_way !== null;
  const done = isBegun ? `${count(state.records)} lines are done. ` : '';
  const skip = job.skip === null ? ' (--skip-bad-lines leaves bad lines out)' : '';
  if (job.source.path === null) return `${done}Pass the rest of the input to go on${skip}.`;
  return isBegun
    ? `${done}To go on, run the same line with --resume, where need be after correcting the rest of the file${skip}.`
    : `Nothing was stored; correct the file and run the same line again${skip}.`;
}

type Total = Pick<ImportState, 'inserted' | 'updated' | 'skipped' | 'batches'>;

const totalOf = ({ inserted, updated, skipped, batches: sent }: ImportState): Total => ({
  inserted,
  updated,
  skipped,
  batches: sent,
});

/** What this run did; apart from it, what all runs of the import did together. */
function resultOf(job: ImportJob, state: ImportState, before: Total): Result {
  const total = totalOf(state);
  const done: Total = {
    inserted: total.inserted - before.inserted,
    updated: total.updated - before.updated,
    skipped: total.skipped - before.skipped,
    batches: total.batches - before.batches,
  };
  const { ignored_columns, errors } = state;
  const value = { file: job.source.name, ...done, total, ignored_columns, errors };
  const parts = ({ inserted, updated, skipped }: Total) =>
    [
      `${count(inserted)} rows inserted`,
      ...(updated > 0 ? [`${count(updated)} updated`] : []),
      ...(skipped > 0 ? [`${count(skipped)} bad lines skipped`] : []),
    ].join(', ');
  const inAll = before.batches > 0 ? ` In all: ${parts(total)}.` : '';
  return { value, text: () => `${parts(done)}.${inAll}\n` };
}
