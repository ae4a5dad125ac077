import { randomBytes } from 'node:crypto';
import { lstat, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../errors.ts';

/** A file that is there whole, or as it was before. */
export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<{ text: string | Uint8Array }>,
): Promise<void> {
  const { target, isFile } = await targetOf(path);
  // A pipe or a device is written to, not replaced.
  const temporary = isFile
    ? join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
    : target;
  const file = await told(path, () => open(temporary, isFile ? 'wx' : 'w'));
  try {
    for await (const { text } of pieces) await told(path, () => file.appendFile(text));
    if (isFile) await told(path, () => file.sync());
    await file.close();
    if (isFile) await told(path, () => rename(temporary, target));
  } catch (cause) {
    await file.close().catch(() => undefined);
    if (isFile) await rm(temporary, { force: true });
    throw cause;
  }
}

/** What a link points to is replaced, not the link. */
async function targetOf(path: string): Promise<{ target: string; isFile: boolean }> {
  const target = await realpath(path).catch(() => path);
  const entry = await lstat(target).catch(() => null);
  return { target, isFile: entry === null || entry.isFile() };
}

async function told<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('output_failed', `${path} can not be written${why}.`, { cause });
  }
}
