import { fail } from '../../core/problem.ts';

export interface BlobCache {
  peek(key: string): Uint8Array | undefined;
  /** Concurrent reads of one key share one request to the store. */
  read(key: string, size: number): Promise<Uint8Array>;
  bytes(): number;
}

export type ReadObject = (key: string) => Promise<{ body: ReadableStream<Uint8Array> } | null>;

export const cachedBlobBytesMax = 256 * 1024;
/** Overhead of an entry, so that many tiny files cannot exceed the limit. */
const entryBytes = 512;

export function createBlobCache(options: { bytesMax: number; get: ReadObject }): BlobCache {
  const cached = new Map<string, { bytes: Uint8Array; wasUsed: boolean }>();
  const reading = new Map<string, Promise<Uint8Array>>();
  let total = 0;

  function store(key: string, bytes: Uint8Array): void {
    const cost = bytes.length + entryBytes;
    if (bytes.length > cachedBlobBytesMax || cost > options.bytesMax || cached.has(key)) return;
    while (total + cost > options.bytesMax) dropOne();
    cached.set(key, { bytes, wasUsed: false });
    total += cost;
  }

  /** CLOCK: an entry used since the last pass gets another round, so a hit only sets a flag. */
  function dropOne(): void {
    for (const [key, entry] of cached) {
      cached.delete(key);
      if (entry.wasUsed) {
        entry.wasUsed = false;
        cached.set(key, entry);
        continue;
      }
      total -= entry.bytes.length + entryBytes;
      return;
    }
  }

  async function load(key: string, size: number): Promise<Uint8Array> {
    const found = await options.get(key);
    const bytes = found && (await new Response(found.body).bytes());
    if (bytes?.length !== size) {
      throw fail('unavailable', {}, { cause: new Error(`The object store has no ${size} bytes at ${key}.`) });
    }
    store(key, bytes);
    return bytes;
  }

  return {
    peek(key) {
      const entry = cached.get(key);
      if (entry === undefined) return undefined;
      entry.wasUsed = true;
      return entry.bytes;
    },
    read(key, size) {
      const under = reading.get(key);
      if (under) return under;
      const result = load(key, size).finally(() => reading.delete(key));
      reading.set(key, result);
      return result;
    },
    bytes: () => total,
  };
}
