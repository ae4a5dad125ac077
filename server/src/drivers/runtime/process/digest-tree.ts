import { createHash } from 'node:crypto';
import { lstat, open, readlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { walkTree } from './walk-tree.ts';

const atOnceMax = 16;
const pieceBytes = 256 * 1024;

/** Of every path with its kind, whether it is a program, and its bytes; not of times and owners. */
export async function digestTree(tree: string): Promise<string> {
  const paths: string[] = [];
  for await (const { path } of walkTree(tree)) paths.push(relative(tree, path));
  paths.sort();
  const sum = createHash('sha256');
  for (let from = 0; from < paths.length; from += atOnceMax) {
    const some = paths.slice(from, from + atOnceMax);
    const lines = await Promise.all(some.map((path) => describe(tree, path)));
    for (const line of lines) sum.update(line);
    await new Promise(setImmediate);
  }
  return `sha256:${sum.digest('hex')}`;
}

/** Each part ends with a NUL, which no path has, so that no two trees have the same text. */
async function describe(tree: string, path: string): Promise<string> {
  const at = join(tree, path);
  const found = await lstat(at);
  if (found.isSymbolicLink()) return `link\0${path}\0${await readlink(at)}\0`;
  if (!found.isFile()) return `${found.isDirectory() ? 'folder' : 'other'}\0${path}\0`;
  const kind = found.mode & 0o100 ? 'program' : 'file';
  return `${kind}\0${path}\0${await sumOf(at, found.size)}\0`;
}

/** In small pieces: the server has others to answer meanwhile. */
async function sumOf(path: string, bytes: number): Promise<string> {
  const sum = createHash('sha256');
  if (bytes <= pieceBytes) return sum.update(await Bun.file(path).bytes()).digest('hex');
  const file = await open(path);
  try {
    const piece = Buffer.alloc(pieceBytes);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, pieceBytes);
      if (bytesRead === 0) return sum.digest('hex');
      sum.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
