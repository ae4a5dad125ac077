import { randomBytes } from 'node:crypto';
import { constants, copyFile, link, open, rename, rm } from 'node:fs/promises';
import { CliError } from '../errors.ts';

/** Whole or not at all; what is there already stays unless it is to be replaced. */
export async function writeNewFile(
  path: string,
  text: string,
  { existing }: { existing: 'refuse' | 'replace' },
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (existing === 'replace') await rename(temporary, path);
    // Both fail where the name is taken; a rename would take its place, also that of one made meanwhile. Not every
    // file system has links.
    else await link(temporary, path).catch(() => copyFile(temporary, path, constants.COPYFILE_EXCL));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'EEXIST') throw fileExists(path);
    const why = code === '' ? '' : ` (${code})`;
    throw new CliError('output_failed', `${path} can not be written${why}.`, { cause });
  } finally {
    await rm(temporary, { force: true });
  }
}

export function fileExists(path: string): CliError {
  return new CliError('file_exists', `${path} is there already.`, {
    next: 'Edit it, or write it anew with --force; --print only shows what would be written.',
  });
}
