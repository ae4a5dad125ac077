import { fail } from '../plumbing/problem.ts';

/** Small bodies in memory: at most so many bytes, those that were not asked for lately out first. */
export interface BlobCache {
  /** At once, or not at all. */
  peek(key: string): Uint8Array | undefined;
  /** Many who ask for the same at once wait for one look into the store. */
  read(key: string, size: number): Promise<Uint8Array>;
  /** What is kept, for those who watch it. */
  bytes(): number;
}

export type ReadObject = (key: string) => Promise<{ body: ReadableStream<Uint8Array> } | null>;

export const keptBlobBytesMax = 256 * 1024;
/** What keeping one costs beside its bytes: a store full of tiny files must not cost many times what was agreed. */
const entryBytes = 512;

export function createBlobCache(options: { bytesMax: number; get: ReadObject }): BlobCache {
  const kept = new Map<string, { bytes: Uint8Array; wasUsed: boolean }>();
  const reading = new Map<string, Promise<Uint8Array>>();
  let total = 0;

  function keep(key: string, bytes: Uint8Array): void {
    const cost = bytes.length + entryBytes;
    if (bytes.length > keptBlobBytesMax || cost > options.bytesMax || kept.has(key)) return;
    while (total + cost > options.bytesMax) dropOne();
    kept.set(key, { bytes, wasUsed: false });
    total += cost;
  }

  /** Whoever was used since the last look gets another round, so a hit costs no more than a mark. */
  function dropOne(): void {
    for (const [key, entry] of kept) {
      kept.delete(key);
      if (entry.wasUsed) {
        entry.wasUsed = false;
        kept.set(key, entry);
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
      throw fail('unavailable', {}, { cause: new Error(`The store has no ${size} bytes at ${key}.`) });
    }
    keep(key, bytes);
    return bytes;
  }

  return {
    peek(key) {
      const entry = kept.get(key);
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
