import { createHash } from 'node:crypto';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { FileEntry } from './data-files.ts';
import { fileHashInput, type Manifest, objectsFolder } from './manifest.ts';

/** Objects are never changed, and exist before the rows that name them: reading them after the snapshot misses none. */
export async function* objectEntries(
  store: ObjectStore,
  { manifest, progress }: { manifest: Manifest; progress(bytes: number): void },
): AsyncGenerator<FileEntry> {
  const sum = createHash('sha256');
  for await (const { key, modifiedAt } of store.list('')) {
    const found = await store.get(key);
    // Deleted since it was listed.
    if (!found) continue;
    const { size } = found;
    const entry = { path: key, kind: 'file', mode: 0o600, modified: modifiedAt, size } as const;
    sum.update(fileHashInput(entry));
    manifest.objects.count += 1;
    manifest.objects.bytes += size;
    const content = async function* () {
      for await (const chunk of readObject(store, { key, size, first: found.body })) {
        sum.update(chunk);
        progress(chunk.byteLength);
        yield chunk;
      }
    };
    yield { ...entry, path: `${objectsFolder}/${key}`, content: content() };
  }
  manifest.objects.sha256 = sum.digest('hex');
}

const readTriesMax = 3;

/** Resumes where a connection was cut. */
async function* readObject(
  store: ObjectStore,
  { key, size, first }: { key: string; size: number; first: ReadableStream<Uint8Array> },
): AsyncGenerator<Uint8Array> {
  let body: ReadableStream<Uint8Array> | undefined = first;
  let at = 0;
  for (let tries = 1; ; ) {
    const from = at;
    try {
      body ??= (await store.get(key, { start: at, end: size - 1 }))?.body;
      if (!body) throw new Error(`The object ${key} was deleted while it was read.`);
      for await (const chunk of body) {
        at += chunk.byteLength;
        yield chunk;
      }
      if (at >= size) return;
      throw new Error(`The object ${key} ended after ${at} of ${size} bytes.`);
    } catch (error) {
      tries = at > from ? 1 : tries + 1;
      if (tries > readTriesMax) throw error;
      body = undefined;
    }
  }
}

export async function measureObjects(store: ObjectStore): Promise<{ count: number; bytes: number }> {
  const found = { count: 0, bytes: 0 };
  for await (const { size } of store.list('')) {
    found.count += 1;
    found.bytes += size;
  }
  return found;
}
