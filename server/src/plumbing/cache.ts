import type { Invalidation } from './invalidation.ts';

/**
 * Keeps loaded values until a change of one of their tags is heard. A value whose load began before a change and
 * ended after it is used once and not kept: it may be older than the change.
 */
export interface TaggedCache<T> {
  /** Null is never kept: made-up keys must not push out what is true. */
  get(key: string, load: () => Promise<{ value: T; tags: readonly string[] } | null>): Promise<T | null>;
  /** What is kept, at once; null where nothing is, or where it is time to `get` it anew. */
  peek(key: string): T | null;
  /** What is kept has proved wrong. */
  forget(key: string): void;
}

/** Time-based ends (a token's expiry) are the value's own to check; this bounds what a missed message can cost. */
const keptMsMax = 30_000;
const renewedMs = 5_000;

export function createTaggedCache<T>(
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>,
  options: { entriesMax: number },
): TaggedCache<T> {
  const entries = new Map<string, { value: T; tags: readonly string[]; until: number }>();
  let epoch = 0;

  invalidation.onChange((tag) => {
    epoch++;
    if (tag === null) return entries.clear();
    for (const [key, entry] of entries) if (entry.tags.includes(tag)) entries.delete(key);
  });

  type Load = () => Promise<{ value: T; tags: readonly string[] } | null>;
  /** Many ask for the same at once: one load serves all who came after the last change. */
  const loading = new Map<string, { begun: number; result: Promise<T | null> }>();

  async function loaded(key: string, load: Load, begun: number): Promise<T | null> {
    const found = await load();
    if (found === null) {
      entries.delete(key);
      return null;
    }
    if (begun === epoch && invalidation.isLive()) {
      if (entries.size >= options.entriesMax) dropOldest(entries);
      entries.set(key, { ...found, until: performance.now() + keptMsMax });
    }
    return found.value;
  }

  function start(key: string, load: Load): Promise<T | null> {
    const result = loaded(key, load, epoch).finally(() => {
      if (loading.get(key)?.result === result) loading.delete(key);
    });
    loading.set(key, { begun: epoch, result });
    return result;
  }

  return {
    async get(key, load) {
      const entry = entries.get(key);
      const now = performance.now();
      if (entry && invalidation.isLive() && entry.until > now) {
        // Looked up anew before its time is over, so that nobody has to wait for it.
        if (entry.until - now < renewedMs && !loading.has(key)) start(key, load).catch(() => {});
        return entry.value;
      }
      const under = loading.get(key);
      if (under && under.begun === epoch && invalidation.isLive()) return under.result;
      return start(key, load);
    },
    peek(key) {
      const entry = entries.get(key);
      return entry && invalidation.isLive() && entry.until - performance.now() >= renewedMs
        ? entry.value
        : null;
    },
    forget: (key) => void entries.delete(key),
  };
}

function dropOldest(entries: Map<string, unknown>): void {
  const oldest = entries.keys().next();
  if (!oldest.done) entries.delete(oldest.value);
}
