import { urlBytesMax } from '@svc/contract/limits.ts';
import { sitePlatformPrefix, siteSdkPath } from '@svc/contract/static-sites.ts';
import type { Logger } from 'pino';
import { createLastKnown, createTaggedCache } from '../../core/cache.ts';
import { type Db, databaseError } from '../../core/db.ts';
import type { Invalidation } from '../../core/invalidation.ts';
import { Failure } from '../../core/problem.ts';
import { openForReview } from '../../delivery/deployments/reviews.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type {
  AppProxy as AppAnswer,
  Edge,
  EdgeRequest,
  EdgeResponse,
  EdgeResult,
} from '../../http/edge-request.ts';
import { type ChallengeLookup, challengePrefix } from '../certificates/certificates.ts';
import { listActiveHosts } from '../domains/domains.ts';
import { createHostReader, type SiteHost } from '../domains/host-names.ts';
import { redirectTo } from '../visitors/site-responses.ts';
import type { Visitors } from '../visitors/visitors.ts';
import { type ActiveHosts, createActiveHosts } from './active-hosts.ts';
import { createVisitorAuth, findPerson, type VisitorAuthDeps } from './authenticate-visitor.ts';
import { noIndex, robotsResponse } from './compile-config.ts';
import { createReleaseContents, type LoadedSite, loadSite } from './load-site.ts';
import { withSearch } from './path-pattern.ts';
import {
  challengeResponse,
  faultPage,
  methodPage,
  misdirectedPage,
  notFoundPage,
  pageResponse,
  serviceWorkerPage,
  tooLongPage,
  unavailablePage,
  unpublishedPage,
} from './plain-page.ts';
import { type AppProxy, createProxy } from './proxy/create-proxy.ts';
import { createInFlightCounter, type InFlightCounter, type ProxyDeps } from './proxy/pick-address.ts';
import { createBlobCache, type FileSource, serveRelease } from './serve-release.ts';
import { createSiteCache, type RunningApp, type SiteCache, type SiteSnapshot } from './site-cache.ts';

const everyMs = 30_000;
const deploymentsMax = 1_000;

/** A deployment in review runs only while people look at it: requests to its staging host start it and keep it running. */
function createOpenedReviews({ db, log }: { db: Db; log: Logger }) {
  const opened = new Map<string, number>();
  return (site: SiteSnapshot, { deploymentId, addresses }: RunningApp): void => {
    if (site.hostKind !== 'staging') return;
    const now = performance.now();
    const last = opened.get(deploymentId) ?? Number.NEGATIVE_INFINITY;
    if (now - last < (addresses.length === 0 ? everyMs / 10 : everyMs)) return;
    if (opened.size >= deploymentsMax) opened.clear();
    opened.set(deploymentId, now);
    openForReview(db, deploymentId).catch((error: unknown) =>
      log.warn({ err: error, deployment: deploymentId }, 'start of a deployment in review failed'),
    );
  };
}

interface EdgeOptions {
  baseUrl: string;
  extraHosts?: readonly string[];
  appsDomain: string;
  visitors: Visitors;
  challengeLookup: ChallengeLookup;
  secureOrigin: (host: string) => string | null;
  sdkModule: () => Promise<Uint8Array>;
  log: Logger;
  count(method: string, status: number): void;
}

interface EdgeDeps extends EdgeOptions {
  sites: SiteCache;
  domains: Pick<ActiveHosts, 'has'>;
  source: FileSource;
  countApp(appId: string, status: number, bytes: number): void;
  proxy: AppProxy;
}

type Answering = ReturnType<Edge['answer']>;

/** Host → site → visitor → file. Synchronous if the site, the visit and the bytes are cached. */
export function createEdge(deps: EdgeDeps): Edge {
  const { sites, visitors } = deps;
  const hostOf = createHostReader({ ...deps, isDomain: deps.domains.has });

  function answer(request: EdgeRequest): Answering {
    // ACME challenges come before the domain is active.
    if (request.path.startsWith(challengePrefix))
      return challengeResponse(deps.challengeLookup, request).then((answered) =>
        withHostHeaders(request, answered),
      );
    // A service worker would outlive its release and intercept the platform's own paths.
    if (request.header('service-worker') !== null)
      return withHostHeaders(request, pageResponse(serviceWorkerPage, request.method));
    if (request.path.length + request.search.length > urlBytesMax)
      return withHostHeaders(request, pageResponse(tooLongPage, request.method));
    const secure = request.scheme === 'http' ? secureAddress(request) : null;
    if (secure !== null) return withHostHeaders(request, redirectTo(secure, 308));
    const site = sites.peek(request.host);
    if (site) return respondAt(site, request);
    const host = hostOf(request.host);
    if (host.kind === 'platform') return pageResponse(notFoundPage, request.method);
    if (site === null) return respondUnknown(host, request);
    return sites
      .get(request.host, host)
      .then((found): Answering => (found ? respondAt(found, request) : respondUnknown(host, request)));
  }

  function withHostHeaders({ host }: EdgeRequest, answered: EdgeResponse): EdgeResponse {
    return hostOf(host).kind === 'staging' ? noIndex(answered) : answered;
  }

  function secureAddress({ host, path, search }: EdgeRequest): string | null {
    const origin = deps.secureOrigin(host);
    return origin === null ? null : withSearch(`${origin}${path.replace(/[^!-~]/g, '')}`, search);
  }

  function respondAt(site: SiteSnapshot, request: EdgeRequest): Answering {
    // The same at every staging host, also at those without an app.
    if (site.hostKind === 'staging' && request.path === '/robots.txt') return robotsResponse(request.method);
    if (site.app !== null) return platformPath(site, request) ?? proxyResponse(site, request);
    if (site.hostKind !== 'staging') return respondToVisitor(site, request);
    const answering = respondToVisitor(site, request);
    return answering instanceof Promise ? answering.then(noIndex) : noIndex(answering);
  }

  function respondUnknown(host: SiteHost, request: EdgeRequest): EdgeResult {
    if (host.kind === 'domain')
      return pageResponse(deps.domains.has(host.host) ? notFoundPage : misdirectedPage, request.method);
    if (host.kind === 'staging' && request.path === '/robots.txt') return robotsResponse(request.method);
    const answering = platformPath(null, request) ?? visitors.redirectToSignIn(null, request);
    if (host.kind !== 'staging') return answering;
    return answering instanceof Promise ? answering.then(noIndex) : noIndex(answering);
  }

  function platformPath(site: SiteSnapshot | null, request: EdgeRequest): EdgeResult | null {
    if (!request.path.startsWith(sitePlatformPrefix)) return null;
    if (request.path === siteSdkPath) return sdkResponse(request);
    return visitors.platformPath(site, request) ?? pageResponse(notFoundPage, request.method);
  }

  async function sdkResponse({ method }: EdgeRequest): Promise<EdgeResponse> {
    if (method !== 'GET' && method !== 'HEAD') return pageResponse(methodPage, method);
    const module = await deps.sdkModule();
    const headers = {
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(module.byteLength),
      'cache-control': 'public, max-age=300',
    };
    return { status: 200, headers, body: method === 'HEAD' ? null : module };
  }

  function respondToVisitor(site: SiteSnapshot, request: EdgeRequest): EdgeResult {
    const own = platformPath(site, request);
    if (own) return own;
    if (site.isOpen) return serveContent(site, request);
    const canVisit = visitors.isVisitor(site, request);
    if (typeof canVisit === 'boolean')
      return canVisit ? serveContent(site, request) : visitors.redirectToSignIn(site, request);
    return canVisit.then((may) =>
      may ? serveContent(site, request) : visitors.redirectToSignIn(site, request),
    );
  }

  function proxyResponse(site: SiteSnapshot, request: EdgeRequest): AppAnswer {
    const again = async () => {
      const host = hostOf(request.host);
      return host.kind === 'platform' ? null : sites.get(request.host, host);
    };
    return { proxy: (whole) => deps.proxy.pass({ site, request, whole, again }) };
  }

  function serveContent(site: SiteSnapshot, request: EdgeRequest): EdgeResult {
    const answering = fileOf(site, request);
    if (answering instanceof Promise) return answering.then((answer) => countAppResponse(site, answer));
    return countAppResponse(site, answering);
  }

  function countAppResponse({ appId }: SiteSnapshot, answer: EdgeResponse): EdgeResponse {
    const { body } = answer;
    const isStream = body instanceof ReadableStream;
    const bytes = isStream ? Number(answer.headers['content-length'] ?? 0) : (body?.length ?? 0);
    deps.countApp(appId, answer.status, bytes);
    return answer;
  }

  function fileOf(site: SiteSnapshot, request: EdgeRequest): EdgeResult {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return pageResponse(methodPage, request.method);
    if (!site.release) return pageResponse(unpublishedPage, request.method);
    return serveRelease(deps.source, site.release, request);
  }

  function errorResponse(error: unknown, request: EdgeRequest): EdgeResponse {
    const failure = error instanceof Failure ? error : databaseError(error);
    const line = { err: failure?.cause ?? error, host: request.host, path: request.path, route: 'site' };
    if (failure) deps.log.warn(line, 'site request failed');
    else deps.log.error(line, 'internal server error');
    return withHostHeaders(request, pageResponse(failure ? unavailablePage : faultPage, request.method));
  }

  function countResponse<A extends EdgeResponse | AppAnswer>(answer: A, { method }: EdgeRequest): A {
    if ('proxy' in answer) return answer;
    deps.count(method, answer.status);
    return answer;
  }

  return {
    serves: (host) => hostOf(host).kind !== 'platform',
    answer(request) {
      try {
        const answering = answer(request);
        if (!(answering instanceof Promise)) return countResponse(answering, request);
        return answering
          .catch((error: unknown) => errorResponse(error, request))
          .then((answered) => countResponse(answered, request));
      } catch (error) {
        return countResponse(errorResponse(error, request), request);
      }
    },
  };
}

/** Files of all cached releases together; about 300 bytes each. */
const filesMax = 200_000;
const sitesMax = 20_000;
const peopleMax = 20_000;

/** No server has confirmed the instances since the database was away. */
function isIncomplete({ snapshot: { app } }: LoadedSite, { snapshot: last }: LoadedSite): boolean {
  return app !== null && app.addresses.length === 0 && app.deploymentId === last.app?.deploymentId;
}

export async function openEdge(
  options: EdgeOptions &
    Pick<ProxyDeps, 'countApp' | 'tokens' | 'limits' | 'sleep'> &
    Pick<VisitorAuthDeps, 'findCredential'> & {
      extraHosts: readonly string[];
      edgeCacheBytes: number;
      db: Db;
      objects: ObjectStore;
      invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
    },
): Promise<Edge & { inFlight: InFlightCounter; stop(): void }> {
  const { db, objects, invalidation, log } = options;
  const domains = createActiveHosts({
    list: () => listActiveHosts(db),
    invalidation,
    onError: (error) => log.warn({ err: error }, 'loading custom domains failed'),
  });
  await domains.load();
  const contents = createReleaseContents({
    filesMax,
    onDropped(id) {
      sites.dropRelease(id);
      lastKnown.drop(({ snapshot }) => snapshot.release?.releaseId === id);
    },
  });
  const lastKnown = createLastKnown<LoadedSite>(invalidation, { entriesMax: sitesMax, isIncomplete });
  const sites = createSiteCache({
    invalidation,
    sitesMax,
    load: (name, host) => lastKnown.load(name, () => loadSite({ db, contents, appAt: domains.appAt }, host)),
  });
  const get: FileSource['get'] = (key, range) => objects.get(key, range);
  const blobs = createBlobCache({ bytesMax: options.edgeCacheBytes, get });
  const inFlight = createInFlightCounter();
  const authenticateVisitor = createVisitorAuth({
    ...options,
    findPerson: (query) => findPerson(db, query),
    cache: createTaggedCache(invalidation, { entriesMax: peopleMax, servesInOutage: true }),
  });
  const onVisit = createOpenedReviews({ db, log });
  const proxy = createProxy({ ...options, authenticateVisitor, inFlight, onVisit });
  const edge = createEdge({
    ...options,
    countApp: (appId, status, bytes) => options.countApp(appId, status, bytes, -1),
    sites,
    domains,
    source: { blobs, get },
    proxy,
  });
  return {
    ...edge,
    inFlight,
    stop() {
      proxy.stop();
      domains.stop();
    },
  };
}
