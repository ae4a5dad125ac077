import { CliError } from './errors.ts';
import { fileUnreadable } from './file-chunks.ts';

export interface FileTextOptions {
  bytesMax: number;
  /** How messages name it. */
  shown?: string;
  /** The error about one that is larger. */
  tooLarge?: (shown: string) => Error;
}

/**
 * The text of a regular file, links followed. What is something else could keep one waiting for ever, and a size alone
 * says little: a file may grow, and some have none.
 */
export async function readFileText(
  path: string,
  { bytesMax, shown = path, tooLarge = (name) => fileTooLarge(name, bytesMax) }: FileTextOptions,
): Promise<string> {
  const file = Bun.file(path);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadable(shown, cause);
  });
  if (!entry.isFile()) {
    const what = entry.isDirectory() ? 'a folder' : 'no regular file';
    throw new CliError('file_unreadable', `${shown} is ${what}.`, { next: 'Give a file.' });
  }
  const bytes = await file
    .slice(0, bytesMax + 1)
    .arrayBuffer()
    .catch((cause) => {
      throw fileUnreadable(shown, cause);
    });
  if (bytes.byteLength > bytesMax) throw tooLarge(shown);
  return new TextDecoder().decode(bytes);
}

export function fileTooLarge(shown: string, bytesMax: number): CliError {
  return new CliError('file_unreadable', `${shown} is larger than ${bytesMax / 1024} KiB.`);
}
