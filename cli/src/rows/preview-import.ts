import type { Plan, Preview } from '@svc/contract/plan.ts';
import { batchErrorsMax } from '@svc/contract/rows.ts';
import type { Ctx } from '../context.ts';
import { formatCount } from '../output/progress.ts';
import { planStaleError } from '../session/problems.ts';
import { batches, deliverBatch } from './batches.ts';
import { type LineFault, rejectedLinesError } from './convert-record.ts';
import { type OpenSource, openSource } from './import-source.ts';
import {
  finishedNote,
  type ImportJob,
  type ImportState,
  ignoredNote,
  openStateFile,
} from './import-state.ts';
import { resumePoint } from './resume-point.ts';
import type { RowsClient } from './rows-client.ts';
import { checkBatch } from './send-batch.ts';

const advice = 'Fix these lines, or skip them with --skip-bad-lines.';

export async function previewImport(ctx: Ctx, rows: RowsClient, job: ImportJob): Promise<Preview> {
  const opened = await openSource(ctx, rows, job.source, { types: job.types, check: 'here' });
  const before = (await openStateFile(ctx, rows, job.source)).read();
  const left = await remainingRecords(ctx, job, opened, before);
  const hasher = fingerprintHasher(rows, job, opened.header);
  const found = { rows: 0, batches: 0, bad: 0, faults: [] as LineFault[] };
  const ignored = new Set<string>();
  let checked = 0;
  let sha256 = '';
  const start = { batches: 0, hasher };
  const limits = { lines: job.batchSize, firstRecords: left.underWay?.records };
  for await (const batch of batches(left.records, opened.convert, limits, start)) {
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
  if (found.faults.length > 0 && job.skip === null) throw rejectedLinesError(found.faults, advice);
  const warnings = [
    ...(left.finishedAt === null ? [] : [finishedNote(left.finishedAt)]),
    ...(before?.finished_at === null && job.start !== 'resume'
      ? [
          `An import of this file is unfinished: ${formatCount(before.records)} lines are done, and --resume continues after them.`,
        ]
      : []),
    ...(found.batches > 1
      ? [`The server has checked the first ${formatCount(checked)} lines; the others were only parsed.`]
      : []),
    ...(ignored.size > 0 ? [ignoredNote([...ignored])] : []),
    ...(found.bad > 0 ? [`${formatCount(found.bad)} bad lines will be skipped.`] : []),
    ...(job.conflict === null ? [] : [conflictWarning(job.conflict)]),
  ];
  return {
    dry_run: true,
    plan: {
      operation: 'rows.import',
      target: planTarget(rows),
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

export async function checkImportPlan(
  ctx: Ctx,
  rows: RowsClient,
  job: ImportJob,
  plan: string,
): Promise<void> {
  const opened = await openSource(ctx, rows, job.source, { types: job.types, check: 'by the server' });
  const before = (await openStateFile(ctx, rows, job.source)).read();
  const { records } = await remainingRecords(ctx, job, opened, before);
  const hasher = fingerprintHasher(rows, job, opened.header);
  let sha256 = '';
  const start = { batches: 0, hasher };
  for await (const batch of batches(records, () => null, { lines: job.batchSize }, start))
    sha256 = batch.sha256;
  if ((sha256 || hasher.digest('hex')) === plan) return;
  throw planStaleError();
}

async function remainingRecords(ctx: Ctx, job: ImportJob, opened: OpenSource, before: ImportState | null) {
  if (job.start !== 'resume') return { records: opened.records, underWay: null, finishedAt: null };
  const { records, state, finishedAt } = await resumePoint(opened, { job, before, now: ctx.io.now() });
  return { records, underWay: state.under_way, finishedAt };
}

function fingerprintHasher(rows: RowsClient, job: ImportJob, header: string | null): Bun.CryptoHasher {
  const { format } = job.source;
  const what = JSON.stringify([rows.ref, format, job.conflict, header]);
  return new Bun.CryptoHasher('sha256').update(what);
}

function planTarget({ ref }: RowsClient): Plan['target'] {
  return { kind: 'table', id: `${ref.app}/${ref.table}`, name: ref.table };
}

function conflictWarning({ column, resolution }: NonNullable<ImportJob['conflict']>): string {
  return resolution === 'merge'
    ? `Rows with an existing ${column} will be overwritten.`
    : `Rows with an existing ${column} will be skipped.`;
}
