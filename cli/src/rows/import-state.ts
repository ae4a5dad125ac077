import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import type { KnownColumns, LineFault } from './convert-record.ts';
import type { ImportSource } from './import-source.ts';
import type { RowsClient, TableRef } from './rows-client.ts';
import type { Conflict } from './send-batch.ts';

export interface ImportState {
  version: 1;
  run: string;
  file: string;
  options: ImportOptions;
  began_at: string;
  updated_at: string;
  /** A finished import is retained, so that --resume does not repeat it. */
  finished_at: string | null;
  records: number;
  batches: number;
  sha256: string;
  /** Batch without a known answer; the same key stores it once. */
  under_way: UnderWay | null;
  inserted: number;
  updated: number;
  skipped: number;
  ignored_columns: string[];
  errors: LineFault[];
}

export interface ImportOptions {
  format: string;
  on_conflict: string;
  resolution: string;
}

export interface UnderWay {
  records: number;
  key: string;
  skipped_lines: number[];
}

export interface ImportStateFile {
  read(): ImportState | null;
  write(state: ImportState): Promise<void>;
  remove(): void;
  prune(now: Date): void;
}

export async function openStateFile(
  ctx: Ctx,
  { ref }: RowsClient,
  source: ImportSource,
): Promise<ImportStateFile> {
  if (source.path === null) return noStateFile;
  return importStateFile((await ctx.session()).configDir, ref, source.path);
}

function importStateFile(configDir: string, ref: TableRef, path: string): ImportStateFile {
  const folder = join(configDir, 'imports');
  const key = JSON.stringify([ref.baseUrl, ref.tenant, ref.app, ref.table, path]);
  const file = join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`);
  return {
    read: () => parseState(file, readIfExists(file)),
    write: async (state) => {
      const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const handle = await open(temporary, 'wx', 0o600);
        try {
          await handle.writeFile(`${JSON.stringify(state, null, 2)}\n`);
          await handle.sync();
        } finally {
          await handle.close();
        }
        renameSync(temporary, file);
      } catch (cause) {
        rmSync(temporary, { force: true });
        throw notWritableError(file, cause);
      }
    },
    remove: () => rmSync(file, { force: true }),
    prune: (now) => {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
        if (now.getTime() - touched > stateRetentionDays * 86_400_000) rmSync(path, { force: true });
      }
    },
  };
}

const stateRetentionDays = 30;

const noStateFile: ImportStateFile = {
  read: () => null,
  write: async () => {},
  remove: () => {},
  prune: () => {},
};

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return null;
    throw new CliError('config_unreadable', `${file} cannot be read.`, { cause });
  }
}

function parseState(file: string, text: string | null): ImportState | null {
  if (text === null) return null;
  try {
    const state = JSON.parse(text) as ImportState;
    if (state.version === 1 && typeof state.run === 'string') return state;
  } catch {
    // Falls through to the error for other versions.
  }
  throw new CliError('config_unreadable', `${file} is not a valid import state.`, {
    next: 'Remove it; the import then starts at the first line.',
  });
}

function notWritableError(file: string, cause: unknown): CliError {
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('config_not_writable', `${file} cannot be written${why}.`, {
    next: 'Set SVC_CONFIG_DIR to a writable folder, or use --from-file - to import without a state.',
    cause,
  });
}

export interface ImportJob {
  source: ImportSource;
  types: KnownColumns | null;
  conflict: Conflict | null;
  batchSize: number;
  skip: { linesMax: number; to: string | null } | null;
  start: 'first' | 'resume' | 'restart';
}

/** The server sets these columns. Exports contain them, so imports drop them. */
export const generatedColumns: readonly string[] = ['created_at', 'updated_at'];

export function finishedNote(at: string): string {
  return `This import finished at ${at}.`;
}

export function ignoredNote(columns: readonly string[]): string {
  return `${columns.join(' and ')} of the file ${columns.length === 1 ? 'is' : 'are'} ignored, because the server sets ${columns.length === 1 ? 'it' : 'them'}.`;
}
