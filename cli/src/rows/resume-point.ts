import { idempotencyKeptHours } from '@svc/contract/limits.ts';
import { CliError } from '../errors.ts';
import { addRecord } from './batches.ts';
import type { ImportJob } from './import-job.ts';
import type { OpenSource } from './import-source.ts';
import type { ImportOptions, ImportState } from './import-state.ts';
import { count } from './progress.ts';
import type { SourceRecord } from './read-records.ts';

/** Where an import begins. */
export interface ResumePoint {
  state: ImportState;
  /** Those that are left. */
  records: AsyncIterable<SourceRecord[]>;
  /** Of those before. */
  hasher: Bun.CryptoHasher;
  /** When the import that is resumed had come to its end already; only what was added to the file is left then. */
  finishedAt: string | null;
}

/** The keys of batches are forgotten after a day; an hour is left for clocks that differ. */
const keyMsMax = (idempotencyKeptHours - 1) * 3_600_000;

/** The first line, or behind those that an earlier run has done, if they are still the same. */
export async function resumePoint(
  { records, header }: Pick<OpenSource, 'records' | 'header'>,
  { job, before, now }: { job: ImportJob; before: ImportState | null; now: Date },
): Promise<ResumePoint> {
  const hasher = new Bun.CryptoHasher('sha256').update(header ?? '');
  if (before === null && job.start === 'resume') throw nothingToResume(job);
  if (before?.finished_at === null && job.start === 'first') throw unfinished(job, before);
  if (before === null || job.start !== 'resume')
    return { state: newState(job, now), records, hasher, finishedAt: null };
  const [was, is] = [before.options, optionsOf(job)].map((options) => JSON.stringify(options));
  if (was !== is) throw cannotResume(`It was begun with other flags (${describe(before.options)})`);
  if (before.under_way !== null && now.getTime() - Date.parse(before.updated_at) > keyMsMax) {
    const { records: lines } = before.under_way;
    throw cannotResume(
      `It ended more than a day ago, and whether the ${count(lines)} lines after the first ${count(before.records)} were stored can no longer be told`,
    );
  }
  const rest = await skip(records, before.records, hasher);
  const isSame = before.records === 0 || hasher.copy().digest('hex') === before.sha256;
  if (rest === null || !isSame) {
    throw cannotResume(
      `The first ${count(before.records)} lines of ${job.source.name} are no longer what they were`,
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
    options: optionsOf(job),
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

function optionsOf({ source, conflict }: ImportJob): ImportOptions {
  return {
    format: source.format,
    on_conflict: conflict?.column ?? '',
    resolution: conflict?.resolution ?? '',
  };
}

function describe({ format, on_conflict, resolution }: ImportOptions): string {
  const conflict = on_conflict === '' ? '' : ` --on-conflict ${on_conflict} --resolution ${resolution}`;
  return `--format ${format}${conflict}`;
}

/** What follows the first so many records; null where there are fewer. */
async function skip(
  records: AsyncIterable<SourceRecord[]>,
  number: number,
  hasher: Bun.CryptoHasher,
): Promise<AsyncIterable<SourceRecord[]> | null> {
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
  first: SourceRecord[],
  pieces: AsyncIterator<SourceRecord[]>,
): AsyncGenerator<SourceRecord[]> {
  if (first.length > 0) yield first;
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return;
    yield value;
  }
}

function nothingToResume({ source }: ImportJob): CliError {
  return new CliError('nothing_to_resume', `No import of ${source.name} into this table is known.`, {
    next: 'Nothing of it was sent from here, by this file name. Leave out --resume to import it.',
  });
}

function unfinished({ source }: ImportJob, { began_at, records }: ImportState): CliError {
  return new CliError(
    'import_unfinished',
    `An import of ${source.name} was begun at ${began_at} and has done ${count(records)} lines.`,
    { next: 'Go on with --resume, or import it from its first line again with --restart.' },
  );
}

function cannotResume(why: string): CliError {
  return new CliError('import_unfinished', `The import can not be resumed: ${why}.`, {
    next: 'Look which rows are there, then import the rest as a file of its own, or all of it with --restart.',
  });
}
