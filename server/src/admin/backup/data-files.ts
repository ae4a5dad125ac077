import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** At the top of the data dir: what belongs to this database, this machine or this very run. */
const leftOut: readonly RegExp[] = [
  /^postgres$/,
  /^postgres\.(json|port|commands|new-.*)$/,
  /^run$/,
  // Databases of apps' own, whose owners take copies of them.
  /^raw$/,
  /^raw-db\.port$/,
  /^local-login\.json$/,
  /\.lock(\..*)?$/,
  /^logs$/,
  /\.log(\.\d+)?$/,
  /\.sock$/,
  /\.(new|next)$/,
  /^replaced-/,
  /^restoring-/,
  // Earlier backups, and one that is being written.
  /\.(tar\.gz|tgz)$/,
  /\.partial-\d+$/,
];

export function isBackedUp(topName: string): boolean {
  return !leftOut.some((pattern) => pattern.test(topName));
}

export interface DataFile {
  path: string;
  kind: 'file' | 'folder';
  mode: number;
  modified: Date;
  size: number;
  content: AsyncIterable<Uint8Array>;
}

/** Everything below the data dir that a backup holds, in a fixed order. What goes away meanwhile was not needed. */
export async function* dataFiles(dataDir: string, skipped: (path: string) => void): AsyncGenerator<DataFile> {
  const names = (await readdir(dataDir).catch(ifGone(() => []))).filter(isBackedUp).sort();
  for (const name of names) yield* below(dataDir, name, skipped);
}

async function* below(root: string, path: string, skipped: (path: string) => void): AsyncGenerator<DataFile> {
  // A link at the top (blobs on another disk) is followed, one further down is not ours.
  const facts = await stat(join(root, path)).catch(ifGone(() => null));
  if (!facts) return;
  if (facts.isFile()) {
    yield* oneFile(root, path);
  } else if (facts.isDirectory()) {
    yield { path, kind: 'folder', mode: facts.mode, modified: facts.mtime, size: 0, content: nothing() };
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(ifGone(() => []));
    for (const entry of entries.sort(inOrder(path))) {
      const inside = `${path}/${entry.name}`;
      if (isGitLock(inside) || isUploadsFolder(inside)) continue;
      if (entry.isFile() || entry.isDirectory()) yield* below(root, inside, skipped);
      else skipped(inside);
    }
  } else if (!facts.isSocket()) skipped(path);
}

async function* oneFile(root: string, path: string): AsyncGenerator<DataFile> {
  const handle = await open(join(root, path)).catch(ifGone(() => null));
  if (!handle) return;
  try {
    const { mode, mtime, size } = await handle.stat();
    yield { path, kind: 'file', mode, modified: mtime, size, content: readExactly(handle, size) };
  } finally {
    await handle.close();
  }
}

export type Handle = Awaited<ReturnType<typeof open>>;

/** As many bytes as the file had, also when it grows meanwhile. */
export async function* readExactly(handle: Handle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(256 * 1024, size - at));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * By name; of a repository what its branches point at comes last, after the branches. A push that comes in between adds
 * to the first and is not among the second.
 */
function inOrder(path: string): (a: { name: string }, b: { name: string }) => number {
  const key = ({ name }: { name: string }) =>
    path.endsWith('.git') && name === 'objects' ? `~${name}` : name;
  return (a, b) => (key(a) < key(b) ? -1 : 1);
}

/** The lock of a change that is under way, and that would stay for ever in a copy. */
function isGitLock(path: string): boolean {
  return path.endsWith('.lock') && /\.git\//.test(path);
}

/** Of the object store: bodies on their way in, which are nothing before they are whole. */
function isUploadsFolder(path: string): boolean {
  return path === 'objects/uploads';
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function ifGone<T>(otherwise: () => T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return otherwise();
    throw error;
  };
}
