import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import type { RowsClient, RowsPlace } from '../rows-client.ts';
import type { ImportSource } from './import-source.ts';
import type { LineFault } from './refused-lines.ts';

/** How far an import has come, in a file, so that it can go on after it was killed. No row is in it. */
export interface ImportState {
  version: 1;
  /** Part of every Idempotency-Key. */
  run: string;
  file: string;
  /** What must be the same to go on. */
  options: ImportOptions;
  began_at: string;
  updated_at: string;
  /** Kept for a while, so that resuming what has ended does nothing instead of everything again. */
  finished_at: string | null;
  /** Done, that is stored or skipped, from the beginning of the file. */
  records: number;
  batches: number;
  /** Of these records. */
  sha256: string;
  /** Sent, its answer not seen: with the same key it is stored once, whether or not it was stored then. */
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
  /** Lines of it that were left out. */
  skipped_lines: number[];
}

export interface ImportStateFile {
  read(): ImportState | null;
  write(state: ImportState): Promise<void>;
  remove(): void;
  /** Removes what nobody has touched for long, this one's or another's. */
  prune(now: Date): void;
}

export async function stateFileOf(
  ctx: Ctx,
  { place }: RowsClient,
  source: ImportSource,
): Promise<ImportStateFile> {
  if (source.path === null) return noStateFile;
  return importStateFile((await ctx.session()).configDir, place, source.path);
}

/** One for each file and table. */
function importStateFile(configDir: string, place: RowsPlace, path: string): ImportStateFile {
  const folder = join(configDir, 'imports');
  const key = JSON.stringify([place.baseUrl, place.tenant, place.app, place.table, path]);
  const file = join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}.json`);
  return {
    read: () => parseState(file, readIfThere(file)),
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
        throw notWritable(file, cause);
      }
    },
    remove: () => rmSync(file, { force: true }),
    prune: (now) => {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
        if (now.getTime() - touched > keptDays * 86_400_000) rmSync(path, { force: true });
      }
    },
  };
}

const keptDays = 30;

/** For standard input, which can not be read again. */
const noStateFile: ImportStateFile = {
  read: () => null,
  write: async () => {},
  remove: () => {},
  prune: () => {},
};

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return null;
    throw new CliError('config_unreadable', `${file} can not be read.`, { cause });
  }
}

function parseState(file: string, text: string | null): ImportState | null {
  if (text === null) return null;
  try {
    const state = JSON.parse(text) as ImportState;
    if (state.version === 1 && typeof state.run === 'string') return state;
  } catch {
    // Told below, together with what another version of svc has written.
  }
  throw new CliError('config_unreadable', `${file} does not tell how far an import has come.`, {
    next: 'Remove it; the import then begins at the first line again.',
  });
}

function notWritable(file: string, cause: unknown): CliError {
  const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return new CliError('config_not_writable', `${file} can not be written${why}.`, {
    next: 'Set SVC_CONFIG_DIR to a folder you can write, or pass the file as --from-file - to do without.',
    cause,
  });
}
