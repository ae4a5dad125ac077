import type { Plan, Preview } from '@svc/contract/plan.ts';
import { batchErrorsMax } from '@svc/contract/rows.ts';
import type { Ctx } from '../context.ts';
import { planStale } from '../errors.ts';
import type { RowsClient } from '../rows-client.ts';
import { batches } from './batches.ts';
import { deliverBatch } from './deliver-batch.ts';
import { endedNote, type ImportJob, ignoredNote } from './import-job.ts';
import { type OpenSource, openSource } from './import-source.ts';
import { type ImportState, stateFileOf } from './import-state.ts';
import { count } from './progress.ts';
import { type LineFault, refusedLines } from './refused-lines.ts';
import { resumePoint } from './resume-point.ts';
import { checkBatch } from './send-batch.ts';

const advice = 'Correct these lines, or leave them out with --skip-bad-lines.';

/** Reads the whole file, lets the server check the first batch, and tells what would happen. */
export async function previewImport(ctx: Ctx, rows: RowsClient, job: ImportJob): Promise<Preview> {
  const opened = await openSource(ctx, rows, job.source, { types: job.types, check: 'here' });
  const before = (await stateFileOf(ctx, rows, job.source)).read();
  const left = await leftOf(ctx, job, opened, before);
  const hasher = fingerprintHasher(rows, job, opened.header);
  const found = { rows: 0, batches: 0, bad: 0, faults: [] as LineFault[] };
  const ignored = new Set<string>();
  let checked = 0;
  let sha256 = '';
  const begun = { batches: 0, hasher };
  const limits = { lines: job.batchSize, firstRecords: left.underWay?.records };
  for await (const batch of batches(left.records, opened.convert, limits, begun)) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    sha256 = batch.sha256;
    found.rows += batch.rows.length;
    found.batches += 1;
    found.bad += batch.faults.length;
    const room = batchErrorsMax - found.faults.length;
    found.faults.push(...batch.faults.slice(0, room).map(({ fault }) => fault));
    if (checked > 0 || batch.rows.length === 0) continue;
    checked = batch.rows.length;
    const bad = async (lines: readonly unknown[]) => {
      found.bad += lines.length;
    };
    const send = (body: string) =>
      checkBatch(rows, { body, conflict: job.conflict }).then(() => ({ inserted: 0, updated: 0 }));
    const sound = { ...batch, faults: [] };
    await deliverBatch(
      { ctx, job, ignored, leftOut: new Set(left.underWay?.skipped_lines), advice, bad, send },
      sound,
    );
  }
  if (found.faults.length > 0 && job.skip === null) throw refusedLines(found.faults, advice);
  const warnings = [
    ...(left.finishedAt === null ? [] : [endedNote(left.finishedAt)]),
    ...(before?.finished_at === null && job.start !== 'resume'
      ? [
          `An import of this file is unfinished: ${count(before.records)} lines are done, and --resume goes on behind them.`,
        ]
      : []),
    ...(found.batches > 1
      ? [
          `The server has checked the first ${count(checked)} lines; the others only whether they can be read.`,
        ]
      : []),
    ...(ignored.size > 0 ? [ignoredNote([...ignored])] : []),
    ...(found.bad > 0 ? [`${count(found.bad)} bad lines will be skipped.`] : []),
    ...(job.conflict === null ? [] : [conflictWarning(job.conflict)]),
  ];
  return {
    dry_run: true,
    plan: {
      operation: 'rows.import',
      target: targetOf(rows),
      changes:
        found.rows === 0 && left.finishedAt !== null
          ? []
          : [{ path: 'rows', before: null, after: found.rows, effect: 'create' }],
      warnings,
      irreversible: false,
      fingerprint: sha256 || hasher.digest('hex'),
    },
  };
}

/** Refuses when the file, or where it goes, is no longer what was previewed. */
export async function checkImportPlan(
  ctx: Ctx,
  rows: RowsClient,
  job: ImportJob,
  plan: string,
): Promise<void> {
  const opened = await openSource(ctx, rows, job.source, { types: job.types, check: 'by the server' });
  const before = (await stateFileOf(ctx, rows, job.source)).read();
  const { records } = await leftOf(ctx, job, opened, before);
  const hasher = fingerprintHasher(rows, job, opened.header);
  let sha256 = '';
  const begun = { batches: 0, hasher };
  for await (const batch of batches(records, () => null, { lines: job.batchSize }, begun))
    sha256 = batch.sha256;
  if ((sha256 || hasher.digest('hex')) === plan) return;
  throw planStale();
}

/** Of a file that is resumed, what the execution would begin with; otherwise all of it. */
async function leftOf(ctx: Ctx, job: ImportJob, opened: OpenSource, before: ImportState | null) {
  if (job.start !== 'resume') return { records: opened.records, underWay: null, finishedAt: null };
  const { records, state, finishedAt } = await resumePoint(opened, { job, before, now: ctx.io.now() });
  return { records, underWay: state.under_way, finishedAt };
}

function fingerprintHasher(rows: RowsClient, job: ImportJob, header: string | null): Bun.CryptoHasher {
  const { format } = job.source;
  const what = JSON.stringify([rows.place, format, job.conflict, header]);
  return new Bun.CryptoHasher('sha256').update(what);
}

function targetOf({ place }: RowsClient): Plan['target'] {
  return { kind: 'table', id: `${place.app}/${place.table}`, name: place.table };
}

function conflictWarning({ column, resolution }: NonNullable<ImportJob['conflict']>): string {
  return resolution === 'merge'
    ? `Rows whose ${column} is there already are overwritten.`
    : `Rows whose ${column} is there already are left as they are.`;
}
