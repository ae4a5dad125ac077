import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeftOutOfSite, releaseFilesMax } from '@svc/contract/site-paths.ts';
import { BuildFailure } from '../drivers/runtime/runtime.ts';
import type { FileRow } from './file-store.ts';

export interface FolderFile extends FileRow {
  place: string;
}

export interface WalkedFolder {
  files: FolderFile[];
  /** Paths of what was passed over. */
  leftOut: string[];
}

const chunkBytes = 256 * 1024;
/** A link is not followed, and a pipe in the file's place keeps nobody waiting. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Every file that a build has left in a folder, with its sum, in the order of their paths. Nothing is followed. */
export async function walkFolder(folder: string, signal?: AbortSignal): Promise<WalkedFolder> {
  const found: Pick<FolderFile, 'path' | 'place'>[] = [];
  const leftOut: string[] = [];
  const folders = [{ place: folder, path: '', depth: 0 }];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const name of await readdir(at.place)) {
      const [place, path] = [join(at.place, name), `${at.path}${name}`];
      if (isLeftOutOfSite(name, at.depth)) {
        leftOut.push(path);
        continue;
      }
      const entry = await lstat(place);
      if (entry.isDirectory()) folders.push({ place, path: `${path}/`, depth: at.depth + 1 });
      else if (entry.isFile()) found.push({ path: path.normalize('NFC'), place });
      else
        throw new BuildFailure(
          'build',
          `${JSON.stringify(path)} is a link or no file; a site holds files alone.`,
        );
      if (found.length > releaseFilesMax)
        throw new BuildFailure('build', `The site has more than ${releaseFilesMax} files.`);
    }
  }
  found.sort((one, other) => (one.path < other.path ? -1 : 1));
  const files: FolderFile[] = [];
  for (const { path, place } of found) {
    signal?.throwIfAborted();
    files.push({ path, place, ...(await sumOf(place)) });
  }
  return { files, leftOut: leftOut.sort() };
}

async function sumOf(place: string): Promise<Pick<FileRow, 'sha256' | 'size'>> {
  const sum = new Bun.CryptoHasher('sha256');
  let size = 0;
  for await (const piece of filePieces(place)) {
    sum.update(piece);
    size += piece.byteLength;
  }
  return { sha256: sum.digest('hex'), size };
}

export async function* filePieces(place: string): AsyncGenerator<Uint8Array> {
  const handle = await open(place, openFlags);
  try {
    if (!(await handle.stat()).isFile()) throw new BuildFailure('build', 'A file of the site was replaced.');
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
