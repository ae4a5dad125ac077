import { domainsTag } from '../domains/list-active-hosts.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';
import type { SiteHost } from './edge-host.ts';
import type { LoadedSite } from './load-site.ts';
import type { SiteSnapshot } from './site-snapshot.ts';

/**
 * Sites by the hosts they were asked for at, until a change of their app is heard. As `plumbing/cache.ts`, and beyond
 * that: what is at hand is had at once, without a promise; and what is looked up anew and found unchanged stays the
 * very same object.
 */
export interface SiteCache {
  /** Undefined: to be looked up. Null: nobody had the host a moment ago. */
  peek(name: string): SiteSnapshot | null | undefined;
  get(name: string, host: SiteHost): Promise<SiteSnapshot | null>;
  /** A list of files has left the memory: no site may hold it. */
  dropRelease(releaseId: string): void;
}

export interface SiteCacheOptions {
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
  load(host: SiteHost): Promise<LoadedSite | null>;
  sitesMax: number;
}

/** As in `plumbing/cache.ts`. */
const keptMsMax = 30_000;
const renewedMs = 5_000;
/** Of apps that run: where is told, and all the same looked at more often, since a machine that dies tells nothing. */
const appKeptMsMax = 10_000;
const appTagStart = 'app:';
/**
 * Hosts that nobody has are kept apart, so that made-up ones never push out what is true, and for a short time, since
 * nobody tells when an app is made. Kept at all, so that they take no longer to answer than those that somebody has.
 */
const absentMsMax = 5_000;
const absentMax = 10_000;

interface Entry extends LoadedSite {
  host: SiteHost;
  until: number;
  wasUsed: boolean;
}

export function createSiteCache(options: SiteCacheOptions): SiteCache {
  const { invalidation } = options;
  const entries = new Map<string, Entry>();
  const byApp = new Map<string, Set<string>>();
  const loading = new Map<string, { begun: number; result: Promise<SiteSnapshot | null> }>();
  const absent = new Map<string, number>();
  let epoch = 0;

  invalidation.onChange((tag) => {
    if (tag !== null && tag !== domainsTag && !tag.startsWith(appTagStart)) return;
    epoch++;
    absent.clear();
    if (tag === null) {
      entries.clear();
      byApp.clear();
    } else if (tag === domainsTag) {
      for (const [name, { host }] of entries) if (host.kind === 'domain') drop(name);
    } else {
      for (const name of byApp.get(tag.slice(appTagStart.length)) ?? []) drop(name);
    }
  });

  function drop(name: string): void {
    const entry = entries.get(name);
    if (!entry) return;
    entries.delete(name);
    const names = byApp.get(entry.snapshot.appId);
    names?.delete(name);
    if (names?.size === 0) byApp.delete(entry.snapshot.appId);
  }

  function dropOne(): void {
    for (const [name, entry] of entries) {
      if (!entry.wasUsed) {
        drop(name);
        return;
      }
      entry.wasUsed = false;
      entries.delete(name);
      entries.set(name, entry);
    }
  }

  function keep(name: string, host: SiteHost, found: LoadedSite): SiteSnapshot {
    const known = entries.get(name);
    const until = performance.now() + (found.snapshot.app ? appKeptMsMax : keptMsMax);
    if (known?.facts === found.facts) {
      known.until = until;
      return known.snapshot;
    }
    drop(name);
    while (entries.size >= options.sitesMax) dropOne();
    entries.set(name, { ...found, host, until, wasUsed: false });
    const { appId } = found.snapshot;
    byApp.set(appId, (byApp.get(appId) ?? new Set()).add(name));
    return found.snapshot;
  }

  async function loaded(name: string, host: SiteHost, begun: number): Promise<SiteSnapshot | null> {
    const found = await options.load(host);
    if (found && begun === epoch && invalidation.isLive()) return keep(name, host, found);
    // It may be older than a change that was heard meanwhile: used once.
    if (found) return found.snapshot;
    drop(name);
    if (begun === epoch && invalidation.isLive()) {
      if (absent.size >= absentMax) absent.clear();
      absent.set(name, performance.now() + absentMsMax);
    }
    return null;
  }

  function start(name: string, host: SiteHost): Promise<SiteSnapshot | null> {
    const result = loaded(name, host, epoch).finally(() => {
      if (loading.get(name)?.result === result) loading.delete(name);
    });
    loading.set(name, { begun: epoch, result });
    return result;
  }

  return {
    peek(name) {
      const entry = entries.get(name);
      if (!invalidation.isLive()) return undefined;
      if (entry === undefined) return (absent.get(name) ?? 0) > performance.now() ? null : undefined;
      const left = entry.until - performance.now();
      if (left <= 0) return undefined;
      // Looked up anew before its time is over, so that nobody has to wait for it.
      if (left < renewedMs && !loading.has(name)) start(name, entry.host).catch(() => {});
      entry.wasUsed = true;
      const { snapshot } = entry;
      if (snapshot.release) snapshot.release.use.isRecent = true;
      return snapshot;
    },
    async get(name, host) {
      const under = loading.get(name);
      if (under && under.begun === epoch && invalidation.isLive()) return under.result;
      return start(name, host);
    },
    dropRelease(releaseId) {
      for (const [name, { snapshot }] of entries) if (snapshot.release?.releaseId === releaseId) drop(name);
    },
  };
}
