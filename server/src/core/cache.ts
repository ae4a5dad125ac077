import type { Invalidation } from './invalidation.ts';
import { createLastKnown } from './last-known.ts';

/** A value whose load overlaps an invalidation is returned but not cached: it may be older than the change. */
export interface TaggedCache<T> {
  /** Null is never cached, so that requests for invented keys cannot evict real entries. */
  get(key: string, load: Load<T>): Promise<T | null>;
  peek(key: string): T | null;
  delete(key: string): void;
}

type Loaded<T> = { value: T; tags: readonly string[] };
type Load<T> = () => Promise<Loaded<T> | null>;

/** Bounds the cost of a lost notification. A value with an expiry of its own (a token) checks that itself. */
const cachedMsMax = 30_000;
const refreshMs = 5_000;

export function createTaggedCache<T>(
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>,
  options: { entriesMax: number; servesInOutage?: boolean },
): TaggedCache<T> {
  const entries = new Map<string, { value: T; tags: readonly string[]; until: number }>();
  /** Concurrent callers share one load, unless an invalidation came after it started. */
  const loading = new Map<string, { startEpoch: number; result: Promise<T | null> }>();
  let epoch = 0;
  const lastKnown = options.servesInOutage ? createLastKnown<Loaded<T>>(invalidation, options) : null;

  invalidation.onChange((tag) => {
    epoch++;
    if (tag === null) return entries.clear();
    for (const [key, entry] of entries) if (entry.tags.includes(tag)) entries.delete(key);
  });

  async function loadAndCache(key: string, load: Load<T>, startEpoch: number): Promise<T | null> {
    const loaded = await (lastKnown ? lastKnown.load(key, load) : load());
    if (loaded === null) {
      entries.delete(key);
      return null;
    }
    if (startEpoch === epoch && invalidation.isLive()) {
      const [oldest = ''] = entries.size >= options.entriesMax ? entries.keys() : [];
      entries.delete(oldest);
      entries.set(key, { ...loaded, until: performance.now() + cachedMsMax });
    }
    return loaded.value;
  }

  function startLoad(key: string, load: Load<T>): Promise<T | null> {
    const result = loadAndCache(key, load, epoch).finally(() => {
      if (loading.get(key)?.result === result) loading.delete(key);
    });
    loading.set(key, { startEpoch: epoch, result });
    return result;
  }

  return {
    async get(key, load) {
      const entry = entries.get(key);
      const now = performance.now();
      if (entry && invalidation.isLive() && entry.until > now) {
        if (entry.until - now < refreshMs && !loading.has(key)) startLoad(key, load).catch(() => {});
        return entry.value;
      }
      const current = loading.get(key);
      if (current && current.startEpoch === epoch && invalidation.isLive()) return current.result;
      return startLoad(key, load);
    },
    peek(key) {
      const entry = entries.get(key);
      return entry && invalidation.isLive() && entry.until - performance.now() >= refreshMs
        ? entry.value
        : null;
    },
    delete: (key) => void entries.delete(key),
  };
}
