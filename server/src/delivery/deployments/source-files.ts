import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';
import { saveSourceFiles } from './sources-store.ts';

/** A source with more files is not compared. */
const filesMax = 10_000;
const hashChars = 32;
const leftOut = ['.git', 'node_modules'];

/** Stores the hashes of the source, so that a reviewer sees which files a deployment changes. */
export async function recordSource(
  db: Db,
  { deploymentId, dir, signal }: { deploymentId: string; dir: string; signal: AbortSignal },
): Promise<void> {
  const files = await hashFolder(dir, signal);
  if (files) await saveSourceFiles(db, deploymentId, files);
}

async function hashFolder(dir: string, signal: AbortSignal): Promise<Map<string, string> | null> {
  const files = new Map<string, string>();
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await readdir(join(dir, folder))) {
      signal.throwIfAborted();
      if (leftOut.includes(name)) continue;
      const path = join(folder, name);
      // A name that is not UTF-8 cannot be found by its text.
      const entry = await lstat(join(dir, path)).catch(() => null);
      if (entry?.isDirectory()) {
        folders.push(path);
        continue;
      }
      if (files.size >= filesMax) return null;
      if (entry?.isFile()) files.set(path, await hashFile(join(dir, path)));
      else if (entry?.isSymbolicLink())
        files.set(path, sha256(`link ${await readlink(join(dir, path))}`).slice(0, hashChars));
      else files.set(path, 'unreadable');
    }
  }
  return files;
}

async function hashFile(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest('hex').slice(0, hashChars);
}
