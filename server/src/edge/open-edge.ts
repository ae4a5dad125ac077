import type { Logger } from 'pino';
import type { ChallengeAnswer } from '../certificates/challenge-answer.ts';
import type { Config } from '../config.ts';
import { listActiveHosts } from '../domains/list-active-hosts.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import type { Db } from '../plumbing/db.ts';
import type { Edge } from '../plumbing/edge-request.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';
import { createActiveHosts } from './active-hosts.ts';
import type { FileSource } from './answer-file.ts';
import { createBlobCache } from './blob-cache.ts';
import { createEdge } from './create-edge.ts';
import { findPerson } from './find-person.ts';
import { loadSite } from './load-site.ts';
import { createProxy, type ProxyLimits } from './proxy/create-proxy.ts';
import { createReleaseContents } from './release-contents.ts';
import { createSiteCache } from './site-cache.ts';
import { createUnderWay, type UnderWay } from './under-way.ts';
import type { UserTokens } from './user-tokens.ts';
import type { Visitors } from './visitors.ts';
import { createWhoAsks, type WhoAsksParts } from './who-asks.ts';

/** Of all lists of files in memory together; one is some 300 bytes. */
const filesMax = 200_000;
const sitesMax = 20_000;
/** Who was looked up for an app. */
const peopleMax = 20_000;

/** The edge with its memories. Reads which custom domains there are before the first request. */
export async function openEdge(
  options: Pick<Config, 'baseUrl' | 'extraHosts' | 'appsDomain' | 'edgeCacheBytes'> & {
    db: Db;
    objects: ObjectStore;
    invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
    visitors: Visitors;
    challengeAnswer: ChallengeAnswer;
    /** Where a custom domain is served over HTTPS, for those who come by plain HTTP; null: nowhere. */
    secureOrigin: (host: string) => string | null;
    log: Logger;
    count(method: string, status: number): void;
    /** Of an app; `ms` until the answer began, below zero where that was not measured. */
    countOf(appId: string, status: number, bytes: number, ms: number): void;
    findCredential: WhoAsksParts['findCredential'];
    tokens: Pick<UserTokens, 'tokenFor'>;
    /** For tests. */
    limits?: Partial<ProxyLimits>;
  },
): Promise<Edge & { underWay: UnderWay; stop(): void }> {
  const { db, objects, invalidation, log } = options;
  const domains = createActiveHosts({
    list: () => listActiveHosts(db),
    invalidation,
    onError: (error) => log.warn({ err: error }, 'the list of domains could not be read'),
  });
  await domains.load();
  const contents = createReleaseContents({
    filesMax,
    onDropped: (releaseId) => sites.dropRelease(releaseId),
  });
  const sites = createSiteCache({
    invalidation,
    sitesMax,
    load: (host) => loadSite({ db, contents, appAt: domains.appAt }, host),
  });
  const get: FileSource['get'] = (key, range) => objects.get(key, range);
  const blobs = createBlobCache({ bytesMax: options.edgeCacheBytes, get });
  const underWay = createUnderWay();
  const whoAsks = createWhoAsks({
    ...options,
    findPerson: (place) => findPerson(db, place),
    cache: createTaggedCache(invalidation, { entriesMax: peopleMax }),
  });
  const proxy = createProxy({ ...options, whoAsks, underWay });
  const edge = createEdge({
    ...options,
    countOf: (appId, status, bytes) => options.countOf(appId, status, bytes, -1),
    ...{ sites, domains, source: { blobs, get }, proxy },
  });
  const stop = () => {
    proxy.stop();
    domains.stop();
  };
  return { ...edge, underWay, stop };
}
