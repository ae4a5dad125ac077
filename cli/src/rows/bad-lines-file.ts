import { type FileHandle, open } from 'node:fs/promises';
import { CliError } from '../errors.ts';
import type { BadLine } from './batches.ts';

/** Where bad lines are kept as they were, to be corrected and imported on their own. */
export interface BadLinesFile {
  add(lines: readonly BadLine[]): Promise<void>;
  close(): Promise<void>;
}

export async function openBadLines(
  path: string | null,
  { header, resumed }: { header: string | null; resumed: boolean },
): Promise<BadLinesFile> {
  if (path === null) return { add: async () => {}, close: async () => {} };
  const file = await told(path, () => open(path, resumed ? 'a' : 'w'));
  const isNew = (await file.stat()).size === 0;
  if (header !== null && isNew) await told(path, () => write(file, `${header}\n`));
  return {
    add: (lines) => {
      // A line with several faults is one line.
      const texts = new Map(lines.map(({ fault, text }) => [fault.line, text]));
      return told(path, () => write(file, [...texts.values()].map((text) => `${text}\n`).join('')));
    },
    close: () => file.close(),
  };
}

async function write(file: FileHandle, text: string): Promise<void> {
  await file.appendFile(text);
}

async function told<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('output_failed', `${path} can not be written${why}.`, { cause });
  }
}
