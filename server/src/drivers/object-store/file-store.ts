import { mkdir, open, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkByProbe } from './check-by-probe.ts';
import { openFileBody } from './file-body.ts';
import { isGone, orIfGone, pathOfKey, walk } from './file-layout.ts';
import { requireKey, requirePrefix, requireRange } from './keys.ts';
import { meter } from './meter.ts';
import type { ObjectStore } from './object-store.ts';
import { unavailable } from './unavailable.ts';
import { createUploadFile, removeLeftovers } from './upload-files.ts';

const placeTriesMax = 20;

/** Files in the data dir. A body is written aside, and takes its place in one step once it is on the disk. */
export function openFileStore(dataDir: string): ObjectStore {
  const root = join(dataDir, 'objects');
  const objects = join(root, 'keys');
  const uploads = join(root, 'uploads');
  const fileOf = (key: string) => {
    requireKey(key);
    return join(objects, pathOfKey(key));
  };
  removeLeftovers(uploads);

  const store: Omit<ObjectStore, 'check'> = {
    async put(key, body, options) {
      const path = fileOf(key);
      const metered = meter(body, options);
      const upload = await orUnavailable(createUploadFile(uploads));
      try {
        try {
          for await (const chunk of metered.chunks) await orUnavailable(upload.handle.writeFile(chunk));
          await orUnavailable(upload.handle.sync());
        } finally {
          await upload.handle.close();
        }
        options.signal?.throwIfAborted();
        await orUnavailable(place({ root, from: upload.path, to: path }));
      } catch (error) {
        await rm(upload.path, { force: true }).catch(() => {});
        throw error;
      }
      return metered.facts();
    },

    async get(key, range) {
      if (range) requireRange(range);
      const { start, end } = range ?? { start: 0, end: Number.MAX_SAFE_INTEGER };
      return await orUnavailable(orIfGone(openFileBody(fileOf(key), { start, end }), null));
    },

    async stat(key) {
      const facts = await orUnavailable(orIfGone(stat(fileOf(key)), null));
      return facts && { size: facts.size };
    },

    async delete(key) {
      const path = fileOf(key);
      if ((await orUnavailable(orIfGone(unlink(path), 'gone'))) === 'gone') return;
      await orUnavailable(syncFolder(dirname(path)));
      await removeEmptyFolders(dirname(path), objects);
    },

    async *list(prefix, after = '') {
      requirePrefix(prefix);
      try {
        yield* walk(objects, { prefix, after });
      } catch (error) {
        throw isSystemError(error) ? unavailable(error) : error;
      }
    },
  };
  return { ...store, check: () => checkByProbe(store, root) };
}

/** Folders that were emptied are removed by others at any time, hence the tries. */
async function place({ root, from, to }: { root: string; from: string; to: string }): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      await rename(from, to);
      break;
    } catch (error) {
      if (!isGone(error) || tries >= placeTriesMax) throw error;
    }
  }
  await syncFolders(dirname(to), root);
}

/** All the way up: another upload may have made one of them a moment ago. Those without changes cost next to nothing. */
async function syncFolders(folder: string, root: string): Promise<void> {
  await syncFolder(folder);
  if (folder.length >= root.length) await syncFolders(dirname(folder), root);
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  // Gone only if what was put into it has been deleted since.
  const handle = await orIfGone(open(folder), null);
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

async function removeEmptyFolders(folder: string, root: string): Promise<void> {
  if (folder === root) return;
  const isRemoved = await rmdir(folder).then(
    () => true,
    () => false,
  );
  if (isRemoved) await removeEmptyFolders(dirname(folder), root);
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isSystemError(error) ? unavailable(error) : error;
  }
}

function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException).code ?? '');
}
