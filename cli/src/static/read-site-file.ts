import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileUnreadable } from '../file-chunks.ts';
import { refused } from './refused.ts';
import { type FileIdentity, identityOf, type SiteFile } from './walk-site.ts';

const chunkBytesMax = 1024 * 1024;
/** A link is not followed, and a pipe in the file's place keeps nobody waiting. */
const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads a file that must still be the one that was found; `take` is given pieces that it must not keep. */
export async function readSiteFile(file: SiteFile, take: (chunk: Uint8Array) => void): Promise<void> {
  const handle = await open(file.place, openFlags).catch((cause: unknown) => {
    throw isGone(cause) ? changed(file) : fileUnreadable(file.place, cause);
  });
  try {
    if (!isSame(identityOf(await handle.stat()), file.identity)) throw changed(file);
    const chunks = await readChunks(handle, file, take);
    // One that came in a single piece was read as it was looked at.
    if (chunks > 1 && !isSame(identityOf(await handle.stat()), file.identity)) throw changed(file);
  } finally {
    await handle.close();
  }
}

async function readChunks(
  handle: FileHandle,
  file: SiteFile,
  take: (chunk: Uint8Array) => void,
): Promise<number> {
  // One byte more than there should be shows a file that has grown.
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytesMax, file.size + 1));
  let [read, chunks] = [0, 0];
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, read).catch((cause: unknown) => {
      throw fileUnreadable(file.place, cause);
    });
    if (bytesRead > 0) take(buffer.subarray(0, bytesRead));
    read += bytesRead;
    chunks += 1;
    if (read > file.size) throw changed(file);
    if (bytesRead < buffer.length) break;
  }
  if (read !== file.size) throw changed(file);
  return chunks;
}

function isSame(one: FileIdentity, other: FileIdentity): boolean {
  return (
    one.dev === other.dev && one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs
  );
}

/** Removed since, or a link now. */
function isGone(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'ENOENT' || code === 'ELOOP' || code === 'ENOTDIR';
}

export function changed({ path }: SiteFile): Error {
  return refused('digest_mismatch', {
    detail: `${path} was changed or replaced while it was being deployed.`,
    next: 'Deploy again when nothing writes to the folder.',
    items: [{ field: path, code: 'digest_mismatch', detail: 'changed meanwhile' }],
  });
}
