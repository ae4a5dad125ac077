import * as fs from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unavailableError } from './object-store.ts';

/**
 * Each segment is in a folder named by its first two characters. `+` replaces the `/` of an inner segment and
 * `~` ends a group folder's name; keys contain neither, so no path is both a file and a folder.
 */
export function keyPath(key: string): string {
  const segments = key.split('/').map((segment, at, all) => (at < all.length - 1 ? `${segment}/` : segment));
  return segments.flatMap((segment) => [`${encodeName(groupName(segment))}~`, encodeName(segment)]).join('/');
}

interface FoundFile {
  key: string;
  size: number;
  modifiedAt: Date;
}

export async function* walkFiles(
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

export async function ifMissing<T, const O>(work: Promise<T>, fallback: O): Promise<T | O> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return fallback;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
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

export async function openFileBody(
  path: string,
  { start, end }: { start: number; end: number },
): Promise<FileBody> {
  const file = await openFile(path, 'r');
  try {
    const { size } = await statFile(file);
    return { body: streamFile(file, { start, stop: Math.min(end + 1, size) }), size };
  } catch (error) {
    await closeFile(file);
    throw error;
  }
}

function streamFile(
  file: number,
  { start, stop }: { start: number; stop: number },
): ReadableStream<Uint8Array> {
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
