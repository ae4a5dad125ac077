import type { FileRecord } from '@svc/contract/csv.ts';
import { idempotencyRetentionHours } from '@svc/contract/limits.ts';
import { CliError } from '../framework/errors.ts';
import { formatCount } from '../output/progress.ts';
import { addRecord } from './batches.ts';
import type { OpenSource } from './import-source.ts';
import type { ImportJob, ImportOptions, ImportState } from './import-state.ts';

export interface ResumePoint {
  state: ImportState;
  records: AsyncIterable<FileRecord[]>;
  hasher: Bun.CryptoHasher;
  finishedAt: string | null;
}

/** Idempotency keys expire after a day; minus an hour for clock differences. */
const keyMsMax = (idempotencyRetentionHours - 1) * 3_600_000;

export async function resumePoint(
  { records, header }: Pick<OpenSource, 'records' | 'header'>,
  { job, before, now }: { job: ImportJob; before: ImportState | null; now: Date },
): Promise<ResumePoint> {
  const hasher = new Bun.CryptoHasher('sha256').update(header ?? '');
  if (before === null && job.start === 'resume') throw nothingToResumeError(job);
  if (before?.finished_at === null && job.start === 'first') throw unfinishedError(job, before);
  if (before === null || job.start !== 'resume')
    return { state: newState(job, now), records, hasher, finishedAt: null };
  const [was, is] = [before.options, importOptions(job)].map((options) => JSON.stringify(options));
  if (was !== is)
    throw cannotResumeError(`it was started with other flags (${describeOptions(before.options)})`);
  if (before.under_way !== null && now.getTime() - Date.parse(before.updated_at) > keyMsMax) {
    const { records: lines } = before.under_way;
    throw cannotResumeError(
      `it ended more than a day ago, and it is unknown whether the ${formatCount(lines)} lines after the first ${formatCount(before.records)} were stored`,
    );
  }
  const rest = await skipRecords(records, before.records, hasher);
  const isSame = before.records === 0 || hasher.copy().digest('hex') === before.sha256;
  if (rest === null || !isSame) {
    throw cannotResumeError(
      `the first ${formatCount(before.records)} lines of ${job.source.name} have changed`,
    );
  }
  const state = { ...before, finished_at: null };
  return { state, records: rest, hasher, finishedAt: before.finished_at };
}

function newState(job: ImportJob, now: Date): ImportState {
  return {
    version: 1,
    run: crypto.randomUUID(),
    file: job.source.path ?? '-',
    options: importOptions(job),
    began_at: now.toISOString(),
    updated_at: now.toISOString(),
    finished_at: null,
    records: 0,
    batches: 0,
    sha256: '',
    under_way: null,
    inserted: 0,
    updated: 0,
    skipped: 0,
    ignored_columns: [],
    errors: [],
  };
}

function importOptions({ source, conflict }: ImportJob): ImportOptions {
  return {
    format: source.format,
    on_conflict: conflict?.column ?? '',
    resolution: conflict?.resolution ?? '',
  };
}

function describeOptions({ format, on_conflict, resolution }: ImportOptions): string {
  const conflict = on_conflict === '' ? '' : ` --on-conflict ${on_conflict} --resolution ${resolution}`;
  return `--format ${format}${conflict}`;
}

async function skipRecords(
  records: AsyncIterable<FileRecord[]>,
  number: number,
  hasher: Bun.CryptoHasher,
): Promise<AsyncIterable<FileRecord[]> | null> {
  const pieces = records[Symbol.asyncIterator]();
  for (let left = number; left > 0; ) {
    const { done, value } = await pieces.next();
    if (done) return null;
    const skipped = value.slice(0, left);
    for (const record of skipped) addRecord(hasher, record);
    left -= skipped.length;
    if (left === 0) return following(value.slice(skipped.length), pieces);
  }
  return following([], pieces);
}

async function* following(
  first: FileRecord[],
  pieces: AsyncIterator<FileRecord[]>,
): AsyncGenerator<FileRecord[]> {
  if (first.length > 0) yield first;
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return;
    yield value;
  }
}

function nothingToResumeError({ source }: ImportJob): CliError {
  return new CliError('nothing_to_resume', `There is no earlier import of ${source.name} into this table.`, {
    next: 'Run the command without --resume.',
  });
}

function unfinishedError({ source }: ImportJob, { began_at, records }: ImportState): CliError {
  return new CliError(
    'import_unfinished',
    `An import of ${source.name}, started at ${began_at}, is unfinished after ${formatCount(records)} lines.`,
    { next: 'Continue with --resume, or start again with --restart.' },
  );
}

function cannotResumeError(why: string): CliError {
  return new CliError('import_unfinished', `The import cannot be resumed: ${why}.`, {
    next: 'Check which rows exist, then import the rest as a separate file, or everything with --restart.',
  });
}
