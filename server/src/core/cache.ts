import { databaseError } from './db.ts';
import type { Invalidation } from './invalidation.ts';
import { turnNow, withTimeout } from './values.ts';

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
      return entry && invalidation.isLive() && entry.until - turnNow() >= refreshMs ? entry.value : null;
    },
    delete: (key) => void entries.delete(key),
  };
}

const outageMsMax = 10 * 60_000;
const loadMsMax = 2_000;
const retryMs = 1_000;
/** After an outage, what servers write all the time (which instances run) may be out of date for this long. */
const recoveryMs = 15_000;

interface Tagged {
  tags: readonly string[];
}

/** While the database is away, a load gives the last value. Use it only where no fresh decision is needed. */
export function createLastKnown<T extends Tagged>(
  { onChange }: Pick<Invalidation, 'onChange'>,
  options: {
    entriesMax: number;
    isIncomplete?: (loaded: T, last: T) => boolean;
    now?: () => number;
  },
) {
  const { entriesMax, isIncomplete, now = () => performance.now() } = options;
  const entries = new Map<string, { loaded: T; until: number | null }>();
  let epoch = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  let endedAt = Number.NEGATIVE_INFINITY;

  onChange((tag) => {
    epoch++;
    for (const [key, entry] of entries)
      if (tag === null) entry.until ??= now() + outageMsMax;
      else if (entry.loaded.tags.includes(tag)) entries.delete(key);
  });

  function store(key: string, loaded: T): void {
    entries.delete(key);
    const [oldest = ''] = entries.size >= entriesMax ? entries.keys() : [];
    entries.delete(oldest);
    entries.set(key, { loaded, until: null });
  }

  async function loadOrLast(key: string, load: () => Promise<T | null>): Promise<T | null> {
    const startEpoch = epoch;
    const entry = entries.get(key);
    const last = entry && (entry.until === null || entry.until > now()) ? entry.loaded : null;
    if (last && now() - failedAt < retryMs) return last;
    try {
      const loaded = await (last ? withTimeout(load(), loadMsMax, tooLongError) : load());
      if (failedAt > Number.NEGATIVE_INFINITY) endedAt = now();
      failedAt = Number.NEGATIVE_INFINITY;
      if (loaded && last && now() - endedAt < recoveryMs && isIncomplete?.(loaded, last)) {
        if (entries.get(key)?.loaded === last) return last;
      }
      if (loaded === null) entries.delete(key);
      else if (startEpoch === epoch) store(key, loaded);
      return loaded;
    } catch (error) {
      if (!last || !(error instanceof TooLong || databaseError(error)?.code === 'unavailable')) throw error;
      failedAt = now();
      // The entry may have been dropped during the load, because the value changed.
      if (entries.get(key)?.loaded !== last) throw error;
      return last;
    }
  }

  return {
    load: loadOrLast,
    drop(matches: (loaded: T) => boolean): void {
      for (const [key, { loaded }] of entries) if (matches(loaded)) entries.delete(key);
    },
  };
}

class TooLong extends Error {}

const tooLongError = () => new TooLong(`No result within ${loadMsMax} ms`);
