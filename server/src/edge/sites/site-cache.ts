import type { authModes } from '@svc/contract/apps.ts';
import type { Invalidation } from '../../core/invalidation.ts';
import { domainsTag } from '../domains/domain-record.ts';
import type { SiteHost } from '../domains/host-names.ts';
import type { VisitedSite } from '../visitors/visitors.ts';
import type { CompiledConfig } from './compile-config.ts';
import type { LoadedSite } from './load-site.ts';
import type { PreparedFiles } from './prepare-file.ts';

/** Sites by host, until their app changes. Unlike `core/cache.ts`, `peek` is synchronous, and an unchanged site keeps its object. */
export interface SiteCache {
  /** Undefined: not cached. Null: no app had the host a moment ago. */
  peek(name: string): SiteSnapshot | null | undefined;
  get(name: string, host: SiteHost): Promise<SiteSnapshot | null>;
  /** The file list was evicted: sites must not reference it. */
  dropRelease(releaseId: string): void;
}

interface SiteCacheOptions {
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
  load(name: string, host: SiteHost): Promise<LoadedSite | null>;
  sitesMax: number;
}

const maxAgeMs = 30_000;
const renewedMs = 5_000;
/** Shorter for running apps, because a machine that dies sends no notification. */
const appMaxAgeMs = 10_000;
const appTagStart = 'app:';
/** Unknown hosts have their own cache, so that random names evict no sites and the response time reveals nothing. */
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
  const loading = new Map<string, { startEpoch: number; result: Promise<SiteSnapshot | null> }>();
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

  function store(name: string, host: SiteHost, found: LoadedSite): SiteSnapshot {
    const known = entries.get(name);
    const until = performance.now() + (found.snapshot.app ? appMaxAgeMs : maxAgeMs);
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

  async function loadSnapshot(
    name: string,
    host: SiteHost,
    startEpoch: number,
  ): Promise<SiteSnapshot | null> {
    const found = await options.load(name, host);
    if (found && startEpoch === epoch && invalidation.isLive()) return store(name, host, found);
    // May be older than a change announced meanwhile: not cached.
    if (found) return found.snapshot;
    drop(name);
    if (startEpoch === epoch && invalidation.isLive()) {
      if (absent.size >= absentMax) absent.clear();
      absent.set(name, performance.now() + absentMsMax);
    }
    return null;
  }

  function start(name: string, host: SiteHost): Promise<SiteSnapshot | null> {
    const result = loadSnapshot(name, host, epoch).finally(() => {
      if (loading.get(name)?.result === result) loading.delete(name);
    });
    loading.set(name, { startEpoch: epoch, result });
    return result;
  }

  return {
    peek(name) {
      const entry = entries.get(name);
      if (!invalidation.isLive()) return undefined;
      if (entry === undefined) return (absent.get(name) ?? 0) > performance.now() ? null : undefined;
      const left = entry.until - performance.now();
      if (left <= 0) return undefined;
      // Reload early, so that no request has to wait.
      if (left < renewedMs && !loading.has(name)) start(name, entry.host).catch(() => {});
      entry.wasUsed = true;
      const { snapshot } = entry;
      if (snapshot.release) snapshot.release.use.isRecent = true;
      return snapshot;
    },
    async get(name, host) {
      const under = loading.get(name);
      if (under && under.startEpoch === epoch && invalidation.isLive()) return under.result;
      return start(name, host);
    },
    dropRelease(releaseId) {
      for (const [name, { snapshot }] of entries) if (snapshot.release?.releaseId === releaseId) drop(name);
    },
  };
}

export interface SiteFile {
  path: string;
  tag: string;
  size: number;
  blobId: string;
  gzipSize: number | null;
  brotliSize: number | null;
}

/** Immutable, shared by all sites that show the release. */
export interface ReleaseContent {
  releaseId: string;
  files: ReadonlyMap<string, SiteFile>;
  use: { isRecent: boolean };
}

/** Everything that a response needs, read at once: a request never sees half of a switch. */
export interface SiteSnapshot extends VisitedSite {
  isOpen: boolean;
  release: ServedRelease | null;
  app: RunningApp | null;
}

export interface RunningApp {
  deploymentId: string;
  addresses: readonly string[];
  firstByteMs: number | null;
  /** How long a request may wait until an app that sleeps, or is opened for a review, has started. Null: it always runs. */
  wakeMs: number | null;
  authMode: (typeof authModes)[number];
  tenantSlug: string;
}

export interface ServedRelease extends ReleaseContent {
  config: CompiledConfig;
  prepared: PreparedFiles;
}
