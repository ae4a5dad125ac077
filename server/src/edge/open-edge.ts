import type { Logger } from 'pino';
import type { ChallengeAnswer } from '../certificates/challenge-answer.ts';
import type { Config } from '../config.ts';
import { listActiveHosts } from '../domains/list-active-hosts.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import type { Edge } from '../plumbing/edge-request.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';
import { createActiveHosts } from './active-hosts.ts';
import type { FileSource } from './answer-file.ts';
import { createBlobCache } from './blob-cache.ts';
import { createEdge } from './create-edge.ts';
import { loadSite } from './load-site.ts';
import { createReleaseContents } from './release-contents.ts';
import { createSiteCache } from './site-cache.ts';
import type { Visitors } from './visitors.ts';

/** Of all lists of files in memory together; one is some 300 bytes. */
const filesMax = 200_000;
const sitesMax = 20_000;

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
  },
): Promise<Edge & { stop(): void }> {
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
  return { ...createEdge({ ...options, sites, domains, source: { blobs, get } }), stop: domains.stop };
}
