import { ProblemError } from '@svc/contract/client.ts';
import { batchErrorsMax } from '@svc/contract/rows.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { formatCount, type RowProgress, startRowProgress } from '../output/progress.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { type BadLine, type Batch, batches, deliverBatch, readAhead } from './batches.ts';
import { rejectedLinesError } from './convert-record.ts';
import { openBadLines } from './files.ts';
import { openSource } from './import-source.ts';
import {
  finishedNote,
  type ImportJob,
  type ImportState,
  type ImportStateFile,
  openStateFile,
  type UnderWay,
} from './import-state.ts';
import { resumePoint } from './resume-point.ts';
import type { RowsClient } from './rows-client.ts';
import { isRefusal, sendBatch } from './send-batch.ts';

export async function importRows(ctx: Ctx, rows: RowsClient, job: ImportJob): Promise<Result> {
  const { source } = job;
  const stateFile = await openStateFile(ctx, rows, source);
  const opened = await openSource(ctx, rows, source, { types: job.types, check: 'by the server' });
  const point = await resumePoint(opened, { job, before: stateFile.read(), now: ctx.io.now() });
  const { state } = point;
  const recordsBefore = state.records;
  const resumed = job.start === 'resume';
  const before = countsSoFar(state);
  if (resumed && point.finishedAt !== null) ctx.note(finishedNote(point.finishedAt));
  else if (resumed) ctx.note(`Resuming after ${formatCount(state.records)} lines.`);
  const badLines = await openBadLines(job.skip?.to ?? null, { header: opened.header, resumed });
  const progress = await startRowProgress(ctx, {
    doing: 'Importing',
    bytesTotal: source.bytes,
    rowsBefore: state.inserted + state.updated,
  });
  const run: Run = { ctx, rows, job, state, stateFile, progress, badLines, sent: 0 };
  const limits = { lines: job.batchSize, firstRecords: state.under_way?.records };
  const start = { batches: state.batches, hasher: point.hasher };
  try {
    for await (const batch of readAhead(batches(point.records, opened.convert, limits, start))) {
      await storeBatch(run, batch);
      progress.update({ rows: state.inserted + state.updated, bytes: batch.end });
    }
  } catch (cause) {
    await saveProgress(run, cause);
    throw addResumeAdvice(run, cause);
  } finally {
    progress.clear();
    await badLines.close();
  }
  const now = ctx.io.now();
  // A finished import without new lines keeps its time.
  if (point.finishedAt === null || state.records > recordsBefore) {
    state.finished_at = now.toISOString();
    await save(run, null);
  }
  stateFile.prune(now);
  return importResult(job, state, before);
}

interface Run {
  ctx: Ctx;
  rows: RowsClient;
  job: ImportJob;
  state: ImportState;
  stateFile: ImportStateFile;
  progress: RowProgress;
  badLines: Awaited<ReturnType<typeof openBadLines>>;
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
      bad: (lines) => skipLines(run, lines),
      send: async (body, leftOut) => {
        const key = idempotencyKey(state, batch, body);
        if (before !== null && before.key !== key) throw changedLinesError(before);
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

/** The same lines of an import have the same key when it is resumed. */
function idempotencyKey({ run }: ImportState, { number }: Batch, body: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(body).digest('hex');
  return `${run}.${number}.${hash.slice(0, 24)}`;
}

async function save({ ctx, state, stateFile }: Run, underWay: ImportState['under_way']): Promise<void> {
  state.under_way = underWay;
  state.updated_at = ctx.io.now().toISOString();
  await stateFile.write(state);
}

async function skipLines(
  { ctx, job, state, progress, badLines }: Run,
  lines: readonly BadLine[],
): Promise<void> {
  const linesMax = job.skip?.linesMax ?? 0;
  progress.clear();
  for (const { fault } of lines) {
    if (state.errors.length >= batchErrorsMax) break;
    state.errors.push(fault);
    ctx.note(
      `Skipped line ${fault.line}: ${sanitize([fault.column, fault.detail].filter(Boolean).join(' '))}`,
    );
  }
  await badLines.add(lines);
  state.skipped += new Set(lines.map(({ fault }) => fault.line)).size;
  if (state.skipped <= linesMax) return;
  throw rejectedLinesError(
    lines.map(({ fault }) => fault),
    `More than ${formatCount(linesMax)} lines are bad. Fix the file, or raise --max-bad-lines.`,
  );
}

async function saveProgress(run: Run, cause: unknown): Promise<void> {
  const underWay = isRefusal(cause) ? null : run.state.under_way;
  if (run.state.records === 0 && underWay === null) run.stateFile.remove();
  else await save(run, underWay);
}

function addResumeAdvice(run: Run, cause: unknown): unknown {
  if (cause instanceof AdvisedProblemError) return cause;
  const next = resumeAdvice(run);
  if (cause instanceof ProblemError) {
    if (run.state.records === 0 && isFinal(cause)) return cause;
    const { retryAfterSeconds } = cause;
    const wait = retryAfterSeconds === null ? '' : `Wait ${retryAfterSeconds} s. `;
    return new AdvisedProblemError(cause.problem, wait + next);
  }
  if (cause instanceof CliError && ['interrupted', 'no_connection', 'timeout'].includes(cause.code))
    return new CliError(cause.code, cause.message, { next, cause });
  return cause;
}

function isFinal({ problem: { status, code } }: ProblemError): boolean {
  return status < 500 && ![408, 429].includes(status) && code !== 'idempotency_in_progress';
}

/** Changed lines have another key, so it is unknown whether the batch in flight was stored. */
function changedLinesError({ records }: UnderWay): CliError {
  return new CliError(
    'import_unfinished',
    `The ${formatCount(records)} lines that were in flight when the import ended have changed.`,
    {
      next: 'Restore them and use --resume, or check which rows exist and import the rest as a separate file.',
    },
  );
}

function resumeAdvice({ job, state }: Run): string {
  const isBegun = state.records > 0 || state.under_way !== null;
  const done = isBegun ? `${formatCount(state.records)} lines are done. ` : '';
  const skip = job.skip === null ? ' (--skip-bad-lines skips bad lines)' : '';
  if (job.source.path === null) return `${done}Pass the rest of the input to continue${skip}.`;
  return isBegun
    ? `${done}To continue, fix the rest of the file if needed and run the same command with --resume${skip}.`
    : `Nothing was stored. Fix the file and run the same command again${skip}.`;
}

type Total = Pick<ImportState, 'inserted' | 'updated' | 'skipped' | 'batches'>;

const countsSoFar = ({ inserted, updated, skipped, batches: sent }: ImportState): Total => ({
  inserted,
  updated,
  skipped,
  batches: sent,
});

function importResult(job: ImportJob, state: ImportState, before: Total): Result {
  const total = countsSoFar(state);
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
      `${formatCount(inserted)} rows inserted`,
      ...(updated > 0 ? [`${formatCount(updated)} updated`] : []),
      ...(skipped > 0 ? [`${formatCount(skipped)} bad lines skipped`] : []),
    ].join(', ');
  const inAll = before.batches > 0 ? ` Total: ${parts(total)}.` : '';
  return { value, text: () => `${parts(done)}.${inAll}\n` };
}
