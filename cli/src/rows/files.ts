import { randomBytes } from 'node:crypto';
import { type FileHandle, lstat, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../framework/errors.ts';
import type { BadLine } from './batches.ts';

export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<{ text: string | Uint8Array }>,
): Promise<void> {
  const { target, isFile } = await resolveTarget(path);
  // Pipes and devices are not replaced.
  const temporary = isFile
    ? join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
    : target;
  const file = await withWriteError(path, () => open(temporary, isFile ? 'wx' : 'w'));
  try {
    for await (const { text } of pieces) await withWriteError(path, () => file.appendFile(text));
    if (isFile) await withWriteError(path, () => file.sync());
    await file.close();
    if (isFile) await withWriteError(path, () => rename(temporary, target));
  } catch (cause) {
    await file.close().catch(() => undefined);
    if (isFile) await rm(temporary, { force: true });
    throw cause;
  }
}

/** Replaces the target of a link, not the link. */
async function resolveTarget(path: string): Promise<{ target: string; isFile: boolean }> {
  const target = await realpath(path).catch(() => path);
  const entry = await lstat(target).catch(() => null);
  return { target, isFile: entry === null || entry.isFile() };
}

async function withWriteError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('output_failed', `${path} cannot be written${why}.`, { cause });
  }
}

interface BadLinesFile {
  add(lines: readonly BadLine[]): Promise<void>;
  close(): Promise<void>;
}

export async function openBadLines(
  path: string | null,
  { header, resumed }: { header: string | null; resumed: boolean },
): Promise<BadLinesFile> {
  if (path === null) return { add: async () => {}, close: async () => {} };
  const file = await withBadLinesError(path, () => open(path, resumed ? 'a' : 'w'));
  const isNew = (await file.stat()).size === 0;
  if (header !== null && isNew) await withBadLinesError(path, () => write(file, `${header}\n`));
  return {
    add: (lines) => {
      const texts = new Map(lines.map(({ fault, text }) => [fault.line, text]));
      return withBadLinesError(path, () =>
        write(file, [...texts.values()].map((text) => `${text}\n`).join('')),
      );
    },
    close: () => file.close(),
  };
}

async function write(file: FileHandle, text: string): Promise<void> {
  await file.appendFile(text);
}

async function withBadLinesError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('output_failed', `${path} cannot be written${why}.`, { cause });
  }
}
