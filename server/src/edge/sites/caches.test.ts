import { describe, expect, test } from 'bun:test';
import { createActiveHosts } from './active-hosts.ts';
import { createReleaseContents, type LoadedSite } from './load-site.ts';
import { cachedBlobBytesMax, createBlobCache } from './serve-release.ts';
import { createSiteCache, type ReleaseContent } from './site-cache.ts';
import { testSite } from './testing.ts';

/** Notifications in memory. */
function fakeChanges() {
  const listeners: ((tag: string | null) => void)[] = [];
  const changes = {
    live: true,
    isLive: () => changes.live,
    onChange: (listener: (tag: string | null) => void) => void listeners.push(listener),
    notify: (tag: string | null) => {
      for (const listener of listeners) listener(tag);
    },
  };
  return changes;
}

describe('the blob cache', () => {
  const store = (sizes: Record<string, number>) => {
    const asked: string[] = [];
    const get = async (key: string) => {
      asked.push(key);
      const size = sizes[key];
      return size === undefined ? null : { body: new Blob([new Uint8Array(size)]).stream() };
    };
    return { asked, get };
  };

  test('stays below its limit', async () => {
    const sizes = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, (at * 997) % 30_000]));
    const blobs = createBlobCache({ bytesMax: 100_000, get: store(sizes).get });
    for (const [key, size] of Object.entries(sizes)) {
      await blobs.read(key, size);
      expect(blobs.bytes()).toBeLessThanOrEqual(100_000);
    }
    expect(blobs.bytes()).toBeGreaterThan(50_000);
  });

  test('counts an overhead for tiny files', async () => {
    const sizes = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, 1]));
    const blobs = createBlobCache({ bytesMax: 10_000, get: store(sizes).get });
    for (const key of Object.keys(sizes)) await blobs.read(key, 1);
    expect(Object.keys(sizes).filter((key) => blobs.peek(key)).length).toBeLessThan(20);
  });

  test('evicts unused blobs first', async () => {
    const sizes = { a: 3_000, b: 3_000, c: 3_000, d: 3_000 };
    const blobs = createBlobCache({ bytesMax: 11_000, get: store(sizes).get });
    for (const key of ['a', 'b', 'c']) await blobs.read(key, 3_000);
    blobs.peek('a');
    await blobs.read('d', 3_000);
    expect([!!blobs.peek('a'), !!blobs.peek('b'), !!blobs.peek('d')]).toEqual([true, false, true]);
  });

  test('reads a blob once for concurrent requests', async () => {
    const { asked, get } = store({ a: 10 });
    const blobs = createBlobCache({ bytesMax: 10_000, get });
    const all = await Promise.all(Array.from({ length: 50 }, () => blobs.read('a', 10)));
    expect(asked).toEqual(['a']);
    expect(new Set(all).size).toBe(1);
  });

  test('does not cache large blobs and errors', async () => {
    const blobs = createBlobCache({
      bytesMax: 10_000_000,
      get: store({ large: cachedBlobBytesMax + 1, short: 5 }).get,
    });
    expect((await blobs.read('large', cachedBlobBytesMax + 1)).length).toBe(cachedBlobBytesMax + 1);
    await expect(blobs.read('none', 5)).rejects.toThrow('unavailable');
    await expect(blobs.read('short', 6)).rejects.toThrow('unavailable');
    expect(['large', 'none', 'short'].map((key) => blobs.peek(key))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect((await blobs.read('short', 5)).length).toBe(5);
  });
});

const serveContent = (releaseId: string, count: number): ReleaseContent => ({
  releaseId,
  files: new Map(Array.from({ length: count }, (_, at) => [`${at}`, {} as never])),
  use: { isRecent: false },
});

describe('the cache of file lists', () => {
  test('stays below its limit and reports evictions', async () => {
    const dropped: string[] = [];
    const contents = createReleaseContents({ filesMax: 100, onDropped: (id) => dropped.push(id) });
    for (let at = 0; at < 50; at++) {
      await contents.get(`r${at}`, async () => serveContent(`r${at}`, 20));
      expect(contents.files()).toBeLessThanOrEqual(100);
    }
    expect(dropped).toHaveLength(46);
  });

  test('retains lists that are in use', async () => {
    const dropped: string[] = [];
    const contents = createReleaseContents({ filesMax: 100, onDropped: (id) => dropped.push(id) });
    const used = await contents.get('used', async () => serveContent('used', 20));
    for (let at = 0; at < 50; at++) {
      used.use.isRecent = true;
      await contents.get(`r${at}`, async () => serveContent(`r${at}`, 20));
    }
    expect(dropped).not.toContain('used');
  });

  test('evicts one if all are in use', async () => {
    const contents = createReleaseContents({ filesMax: 100, onDropped: () => {} });
    for (let at = 0; at < 10; at++) {
      const content = await contents.get(`r${at}`, async () => serveContent(`r${at}`, 20));
      content.use.isRecent = true;
      expect(contents.files()).toBeLessThanOrEqual(100);
    }
  });

  test('caches a list above the limit alone, and no failed load', async () => {
    const contents = createReleaseContents({ filesMax: 10, onDropped: () => {} });
    await expect(contents.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect((await contents.get('a', async () => serveContent('a', 20))).files.size).toBe(20);
    await contents.get('b', async () => serveContent('b', 5));
    expect(contents.files()).toBe(6);
  });
});

describe('the site cache', () => {
  const host = { kind: 'app', subdomain: 'shop' } as const;
  const setUp = (options: { sitesMax?: number } = {}) => {
    const changes = fakeChanges();
    const site = testSite({ 'index.html': 'home' });
    let facts = 'first';
    let loads = 0;
    let load = async (): Promise<LoadedSite | null> => ({ snapshot: { ...site }, facts, tags: [] });
    const sites = createSiteCache({
      invalidation: changes,
      sitesMax: options.sitesMax ?? 10,
      load: () => {
        loads++;
        return load();
      },
    });
    return {
      changes,
      site,
      sites,
      loads: () => loads,
      setFacts: (text: string) => {
        facts = text;
      },
      setLoad: (next: typeof load) => {
        load = next;
      },
    };
  };

  test('retains a site until its app changes', async () => {
    const { sites, changes, site } = setUp();
    expect(sites.peek('a')).toBeUndefined();
    const first = await sites.get('a', host);
    expect(sites.peek('a')).toBe(first!);
    changes.notify('app:another');
    changes.notify('user:somebody');
    expect(sites.peek('a')).toBe(first!);
    changes.notify(`app:${site.appId}`);
    expect(sites.peek('a')).toBeUndefined();
  });

  test('does not cache a lookup during which the app changed', async () => {
    const { sites, changes, setLoad, site } = setUp();
    const { promise, resolve } = Promise.withResolvers<LoadedSite>();
    setLoad(() => promise);
    const asked = sites.get('a', host);
    changes.notify(`app:${site.appId}`);
    resolve({ snapshot: site, facts: 'old', tags: [] });
    expect(await asked).toBe(site);
    expect(sites.peek('a')).toBeUndefined();
  });

  test('starts a new lookup after a change', async () => {
    const { sites, changes, setLoad, site } = setUp();
    const { promise, resolve } = Promise.withResolvers<LoadedSite>();
    setLoad(() => promise);
    const before = sites.get('a', host);
    changes.notify(`app:${site.appId}`);
    const next = { ...site };
    setLoad(async () => ({ snapshot: next, facts: 'new', tags: [] }));
    expect(await sites.get('a', host)).toBe(next);
    resolve({ snapshot: site, facts: 'old', tags: [] });
    await before;
    expect(sites.peek('a')).toBe(next);
  });

  test('looks up a site once for concurrent requests', async () => {
    const { sites, loads } = setUp();
    await Promise.all(Array.from({ length: 50 }, () => sites.get('a', host)));
    expect(loads()).toBe(1);
  });

  test('caches nothing while notifications are down', async () => {
    const { sites, changes } = setUp();
    await sites.get('a', host);
    changes.live = false;
    expect(sites.peek('a')).toBeUndefined();
    changes.notify(null);
    await sites.get('a', host);
    changes.live = true;
    expect(sites.peek('a')).toBeUndefined();
  });

  test('retains the object of an unchanged site', async () => {
    const { sites, setFacts } = setUp();
    const first = await sites.get('a', host);
    expect(await sites.get('a', host)).toBe(first!);
    setFacts('second');
    const second = await sites.get('a', host);
    expect(second).not.toBe(first!);
    expect(sites.peek('a')).toBe(second!);
  });

  test('retains unknown hosts until an app or domain changes', async () => {
    const { sites, setLoad, loads, changes } = setUp();
    await sites.get('a', host);
    setLoad(async () => null);
    expect(await sites.get('a', host)).toBeNull();
    expect([sites.peek('a'), sites.peek('b')]).toEqual([null, undefined]);
    for (const tag of ['app:any', 'domains', null]) {
      expect(await sites.get('a', host)).toBeNull();
      expect(sites.peek('a')).toBeNull();
      changes.notify('user:somebody');
      expect(sites.peek('a')).toBeNull();
      changes.notify(tag);
      expect(sites.peek('a')).toBeUndefined();
    }
    expect(loads()).toBe(5);
  });

  test('does not evict sites for unknown hosts', async () => {
    const { sites, setLoad } = setUp({ sitesMax: 2 });
    const cached = await sites.get('a', host);
    setLoad(async () => null);
    for (let at = 0; at < 25_000; at++) await sites.get(`none-${at}`, host);
    expect(sites.peek('a')).toBe(cached!);
    expect(sites.peek('none-0')).toBeUndefined();
    expect(sites.peek('none-24999')).toBeNull();
  });

  test('has a limit and evicts unused sites first', async () => {
    const { sites } = setUp({ sitesMax: 3 });
    for (const name of ['a', 'b', 'c']) await sites.get(name, host);
    sites.peek('a');
    await sites.get('d', host);
    expect(['a', 'b', 'c', 'd'].map((name) => sites.peek(name) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test('drops custom domains when domains change, and sites when their file list is evicted', async () => {
    const { sites, changes, site } = setUp();
    await sites.get('a', host);
    await sites.get('shop.example', { kind: 'domain', host: 'shop.example' });
    changes.notify('domains');
    expect([sites.peek('a') !== undefined, sites.peek('shop.example')]).toEqual([true, undefined]);
    sites.dropRelease(site.release.releaseId);
    expect(sites.peek('a')).toBeUndefined();
  });
});

describe('custom domains', () => {
  const setUp = () => {
    const changes = fakeChanges();
    const later = { run: () => {}, ms: 0, isForgotten: false };
    let list = [{ host: 'shop.example', appId: 'one' }];
    let reads = 0;
    const errors: unknown[] = [];
    const hosts = createActiveHosts({
      invalidation: changes,
      onError: (error) => errors.push(error),
      later(run, ms) {
        Object.assign(later, { run, ms, isForgotten: false });
        return () => {
          later.isForgotten = true;
        };
      },
      list: async () => {
        reads++;
        if (list.length === 0) throw new Error('away');
        return list;
      },
    });
    const setList = (next: typeof list) => {
      list = next;
    };
    return { changes, hosts, errors, setList, later, reads: () => reads };
  };

  test('are read once and looked up in memory', async () => {
    const { hosts, reads } = setUp();
    await hosts.load();
    expect([hosts.has('shop.example'), hosts.has('other.example')]).toEqual([true, false]);
    expect([await hosts.appAt('shop.example'), await hosts.appAt('other.example')]).toEqual(['one', null]);
    expect(reads()).toBe(1);
  });

  test('are not served after the notification of their removal', async () => {
    const { hosts, changes, setList } = setUp();
    await hosts.load();
    setList([{ host: 'new.example', appId: 'two' }]);
    changes.notify('domains');
    expect(await hosts.appAt('shop.example')).toBeNull();
    expect(hosts.has('new.example')).toBe(true);
  });

  test('are read again after 30 seconds, and after a growing delay on failure', async () => {
    const { hosts, changes, setList, later, errors } = setUp();
    await hosts.load();
    expect(later.ms).toBe(30_000);
    setList([]);
    changes.notify('domains');
    await Bun.sleep(0);
    const pauses = [later.ms];
    for (let turn = 0; turn < 8; turn++) {
      later.run();
      await Bun.sleep(0);
      pauses.push(later.ms);
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(errors).toHaveLength(9);
    setList([{ host: 'new.example', appId: 'two' }]);
    expect(hosts.has('new.example')).toBe(false);
    later.run();
    await Bun.sleep(0);
    expect([hosts.has('new.example'), later.ms]).toEqual([true, 30_000]);
    hosts.stop();
    expect(later.isForgotten).toBe(true);
  });

  test('ignore a read that is older than the last one', async () => {
    const changes = fakeChanges();
    const looks: ((found: { host: string; appId: string }[]) => void)[] = [];
    const hosts = createActiveHosts({
      invalidation: changes,
      onError: () => {},
      later: () => () => {},
      list: () => new Promise((resolve) => looks.push(resolve)),
    });
    const first = hosts.load();
    changes.notify('domains');
    const second = hosts.load();
    looks[1]!([{ host: 'new.example', appId: 'two' }]);
    await second;
    looks[0]!([{ host: 'old.example', appId: 'one' }]);
    await first;
    expect([hosts.has('old.example'), hosts.has('new.example')]).toEqual([false, true]);
  });

  test('are read for each lookup while notifications are down', async () => {
    const { hosts, changes, setList, errors } = setUp();
    await hosts.load();
    changes.live = false;
    setList([{ host: 'shop.example', appId: 'two' }]);
    expect(await hosts.appAt('shop.example')).toBe('two');
    setList([]);
    await expect(hosts.appAt('shop.example')).rejects.toThrow('away');
    changes.notify(null);
    await Bun.sleep(0);
    expect(errors).toHaveLength(1);
  });
});
