import { GitFailure } from './git-client.ts';
import { type RunGit, readGit } from './run-git.ts';

/** Of one checkout; what has more is no source. */
const filesMax = 100_000;
/** Folders count as well: some hold nothing but folders. */
const entriesMax = 2 * filesMax;

/**
 * Asked of the tree, before a file of it is written. Trees that name one another say far more than they take, so it is
 * heard only up to the limits.
 */
export async function refuseLarge(
  of: Pick<RunGit, 'path' | 'cwd' | 'signal'> & { sha: string; bytesMax: number },
): Promise<void> {
  const { path, cwd, signal, sha, bytesMax } = of;
  const args = ['ls-tree', '-r', '-t', '-l', '-z', sha];
  let [entries, files, bytes] = [0, 0, 0];
  const take = entryReader((size) => {
    entries++;
    if (size !== null) {
      files++;
      bytes += size;
    }
    if (bytes > bytesMax || files > filesMax || entries > entriesMax)
      throw new GitFailure('too_large', `The source has more than ${bytesMax} bytes, or ${filesMax} files.`);
  });
  await readGit({ path, cwd, signal, args }, take);
}

const tab = 9;

/** `<mode> <type> <sha> <size>\t<path>`, each with a NUL behind it; a folder has no size. */
function entryReader(found: (size: number | null) => void): (piece: Uint8Array) => void {
  let head = '';
  let isPath = false;
  return (piece) => {
    for (let at = 0; at < piece.length; ) {
      const end = piece.indexOf(isPath ? 0 : tab, at);
      const upTo = end < 0 ? piece.length : end;
      // Of paths only the end is looked for, however long they are.
      if (!isPath) head += Buffer.from(piece.buffer, piece.byteOffset + at, upTo - at).toString('latin1');
      at = upTo + 1;
      if (end < 0) break;
      if (isPath) head = '';
      else found(sizeOf(head));
      isPath = !isPath;
    }
  };
}

/** A submodule has none, but counts as a file. */
function sizeOf(head: string): number | null {
  const [, type, , size] = head.split(/ +/);
  return type === 'tree' ? null : Number(size) || 0;
}
