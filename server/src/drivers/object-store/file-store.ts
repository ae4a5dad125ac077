import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProcess, isRunning } from '../os/processes.ts';
import {
  checkStore,
  measureBody,
  type ObjectStore,
  requireKey,
  requirePrefix,
  requireRange,
  unavailableError,
} from './object-store.ts';

const moveTriesMax = 20;

export function openFileStore(dataDir: string): ObjectStore {
  const root = join(dataDir, 'objects');
  const objects = join(root, 'keys');
  const uploads = join(root, 'uploads');
  const pathFor = (key: string) => {
    requireKey(key);
    return join(objects, keyPath(key));
  };
  removeAbandonedUploads(uploads);

  const store: Omit<ObjectStore, 'check'> = {
    async put(key, body, options) {
      const path = pathFor(key);
      const measured = measureBody(body, options);
      const upload = await mapSystemErrors(createUploadFile(uploads));
      try {
        try {
          for await (const chunk of measured.chunks) await mapSystemErrors(upload.handle.writeFile(chunk));
          await mapSystemErrors(upload.handle.sync());
        } finally {
          await upload.handle.close();
        }
        options.signal?.throwIfAborted();
        await mapSystemErrors(moveUpload({ root, from: upload.path, to: path }));
      } catch (error) {
        await rm(upload.path, { force: true }).catch(() => {});
        throw error;
      }
      return measured.facts();
    },

    async get(key, range) {
      if (range) requireRange(range);
      const { start, end } = range ?? { start: 0, end: Number.MAX_SAFE_INTEGER };
      return await mapSystemErrors(ifMissing(openFileBody(pathFor(key), { start, end }), null));
    },

    async stat(key) {
      const facts = await mapSystemErrors(ifMissing(stat(pathFor(key)), null));
      return facts && { size: facts.size };
    },

    async delete(key) {
      const path = pathFor(key);
      if ((await mapSystemErrors(ifMissing(unlink(path), 'gone'))) === 'gone') return;
      await mapSystemErrors(syncFolder(dirname(path)));
      await removeEmptyFolders(dirname(path), objects);
    },

    async *list(prefix, after = '') {
      requirePrefix(prefix);
      try {
        yield* walkFiles(objects, { prefix, after });
      } catch (error) {
        throw isSystemError(error) ? unavailableError(error) : error;
      }
    },
  };
  return { ...store, check: () => checkStore(store, root) };
}

/** Retries, because a concurrent delete may remove the empty folder. */
async function moveUpload({ root, from, to }: { root: string; from: string; to: string }): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      await rename(from, to);
      break;
    } catch (error) {
      if (!isMissing(error) || tries >= moveTriesMax) throw error;
    }
  }
  await syncFolders(dirname(to), root);
}

/** Up to the root: another upload may just have created one of them. Syncing unchanged folders is cheap. */
async function syncFolders(folder: string, root: string): Promise<void> {
  await syncFolder(folder);
  if (folder.length >= root.length) await syncFolders(dirname(folder), root);
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await ifMissing(open(folder), null);
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

async function removeEmptyFolders(folder: string, root: string): Promise<void> {
  if (folder === root) return;
  const isRemoved = await rmdir(folder)
    .then(() => true)
    .catch(() => false);
  if (isRemoved) await removeEmptyFolders(dirname(folder), root);
}

async function mapSystemErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isSystemError(error) ? unavailableError(error) : error;
  }
}

function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException).code ?? '');
}

const abandonedFileMsMin = 24 * 60 * 60 * 1000;

async function createUploadFile(folder: string): Promise<{ path: string; handle: FileHandle }> {
  const ownFolder = join(folder, processFolderName());
  await mkdir(ownFolder, { recursive: true, mode: 0o700 });
  const path = join(ownFolder, randomUUID());
  return { path, handle: await open(path, 'wx', 0o600) };
}

/** For processes on other machines, the age of the file decides. */
function removeAbandonedUploads(folder: string): void {
  for (const name of listFolder(folder)) {
    const path = join(folder, name);
    if (isFromDeadProcess(name)) tryRemove(path);
    else for (const file of listFolder(path)) if (isOld(join(path, file))) tryRemove(join(path, file));
  }
}

function isOld(path: string): boolean {
  const facts = statSync(path, { throwIfNoEntry: false });
  return facts !== undefined && facts.mtimeMs < Date.now() - abandonedFileMsMin;
}

function tryRemove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {}
}

function processFolderName(): string {
  const started = findProcess(process.pid)?.started ?? '';
  return [encodeURIComponent(hostname()), process.pid, started.replace(':', '_')].join('~');
}

function isFromDeadProcess(name: string): boolean {
  const [host, pid, started] = name.split('~');
  if (host !== encodeURIComponent(hostname()) || !pid || started === undefined) return false;
  return !isRunning({ pid: Number(pid), started: started.replace('_', ':') });
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** `+` replaces an inner `/`, `~` ends a group folder: keys contain neither, so no path is both a file and a folder. */
export function keyPath(key: string): string {
  const segments = key.split('/').map((segment, at, all) => (at < all.length - 1 ? `${segment}/` : segment));
  return segments.flatMap((segment) => [`${encodeName(groupName(segment))}~`, encodeName(segment)]).join('/');
}

interface FoundFile {
  key: string;
  size: number;
  modifiedAt: Date;
}

async function* walkFiles(
  folder: string,
  filter: { prefix: string; after: string },
  base = '',
): AsyncGenerator<FoundFile> {
  const mayContain = (keyStart: string) =>
    (keyStart.startsWith(filter.prefix) || filter.prefix.startsWith(keyStart)) &&
    (keyStart > filter.after || filter.after.startsWith(keyStart));
  for (const group of await listNames(folder)) {
    if (!group.endsWith('~') || !mayContain(base + group.slice(0, -1))) continue;
    const inside = join(folder, encodeName(group));
    for (const name of await listNames(inside)) {
      const key = base + name;
      if (!mayContain(key)) continue;
      const path = join(inside, encodeName(name));
      if (name.endsWith('/')) yield* walkFiles(path, filter, key);
      else if (key > filter.after && key.startsWith(filter.prefix)) yield* yieldFile(path, key);
    }
  }
}

async function* yieldFile(path: string, key: string): AsyncGenerator<FoundFile> {
  const facts = await ifMissing(stat(path), null);
  if (facts?.isFile()) yield { key, size: facts.size, modifiedAt: facts.mtime };
}

async function listNames(folder: string): Promise<string[]> {
  return (await ifMissing(readdir(folder), [])).map((name) => name.replace('+', '/')).sort(compareNames);
}

// Ignores the `~` of a group, which is not a part of the key: `a` comes before `a-`.
function compareNames(one: string, other: string): number {
  const [a, b] = [one.replace('~', ''), other.replace('~', '')];
  return a < b ? -1 : Number(a > b);
}

const groupName = (segment: string) => segment.slice(0, 2);
const encodeName = (part: string) => part.replace('/', '+');

async function ifMissing<T, const O>(work: Promise<T>, fallback: O): Promise<T | O> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return fallback;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}

const openFile = promisify(fs.open);
const closeFile = promisify(fs.close);
const statFile = promisify(fs.fstat) as (file: number) => Promise<fs.Stats>;
const chunkBytes = 256 * 1024;

/** Closes the file of a body that is garbage-collected without being read or cancelled. */
const unreadFiles = new FinalizationRegistry((file: number) => fs.close(file, () => {}));

interface FileBody {
  body: ReadableStream<Uint8Array>;
  size: number;
}

async function openFileBody(path: string, { start, end }: { start: number; end: number }): Promise<FileBody> {
  const file = await openFile(path, 'r');
  try {
    const { size } = await statFile(file);
    return { body: streamFile(file, { start, stop: Math.min(end + 1, size) }), size };
  } catch (error) {
    await closeFile(file);
    throw error;
  }
}

function streamFile(file: number, { start, stop }: { start: number; stop: number }) {
  let at = start;
  const token = {};
  const close = async () => {
    unreadFiles.unregister(token);
    await closeFile(file);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (at < stop) {
            const chunk = await readChunk(file, { at, bytes: Math.min(chunkBytes, stop - at) });
            at += chunk.byteLength;
            controller.enqueue(chunk);
          }
          if (at < stop) return;
          await close();
          controller.close();
        } catch (error) {
          await close().catch(() => {});
          controller.error(unavailableError(error));
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
  unreadFiles.register(body, file, token);
  return body;
}

async function readChunk(file: number, { at, bytes }: { at: number; bytes: number }): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const buffer = new Uint8Array(bytes);
  fs.read(file, buffer, 0, bytes, at, (error, count) => {
    if (error) reject(error);
    else if (count === 0) reject(new Error('The file of an object was truncated.'));
    else resolve(buffer.subarray(0, count));
  });
  return await promise;
}
