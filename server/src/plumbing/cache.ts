import type { Invalidation } from './invalidation.ts';

/**
 * Keeps loaded values until a change of one of their tags is heard. A value whose load began before a change and
 * ended after it is used once and not kept: it may be older than the change.
 */
export interface TaggedCache<T> {
  /** Null is never kept: made-up keys must not push out what is true. */
  get(key: string, load: () => Promise<{ value: T; tags: readonly string[] } | null>): Promise<T | null>;
  /** What is kept has proved wrong. */
  forget(key: string): void;
}

/** Time-based ends (a token's expiry) are the value's own to check; this bounds what a missed message can cost. */
const keptMsMax = 30_000;

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

  return {
    async get(key, load) {
      const entry = entries.get(key);
      if (entry && invalidation.isLive() && entry.until > performance.now()) return entry.value;
      const begun = epoch;
      const loaded = await load();
      if (loaded === null) return null;
      const { value, tags } = loaded;
      if (begun === epoch && invalidation.isLive()) {
        if (entries.size >= options.entriesMax) dropOldest(entries);
        entries.set(key, { value, tags, until: performance.now() + keptMsMax });
      }
      return value;
    },
    forget: (key) => void entries.delete(key),
  };
}

function dropOldest(entries: Map<string, unknown>): void {
  const oldest = entries.keys().next();
  if (!oldest.done) entries.delete(oldest.value);
}
