import { urlBytesMax } from '@svc/contract/limits.ts';
import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import type { Logger } from 'pino';
import { type ChallengeAnswer, challengePrefix } from '../certificates/challenge-answer.ts';
import { failureOfDatabase } from '../plumbing/database-errors.ts';
import type { AppAnswer, Edge, EdgeAnswer, EdgeAnswering, EdgeRequest } from '../plumbing/edge-request.ts';
import { Failure } from '../plumbing/problem.ts';
import type { ActiveHosts } from './active-hosts.ts';
import { answerChallenge } from './answer-challenge.ts';
import type { FileSource } from './answer-file.ts';
import { answerRelease, redirectAnswer } from './answer-release.ts';
import { createHostReader, type SiteHost } from './edge-host.ts';
import { noIndex, robotsAnswer } from './not-indexed.ts';
import {
  faultPage,
  methodPage,
  misdirectedPage,
  notFoundPage,
  nothingShownPage,
  pageAnswer,
  serviceWorkerPage,
  tooLongPage,
  unavailablePage,
} from './plain-page.ts';
import type { AppProxy } from './proxy/create-proxy.ts';
import { withSearch } from './redirect-target.ts';
import type { SiteCache } from './site-cache.ts';
import type { SiteSnapshot } from './site-snapshot.ts';
import type { Visitors } from './visitors.ts';

export interface EdgeParts {
  baseUrl: string;
  extraHosts?: readonly string[];
  appsDomain: string;
  sites: SiteCache;
  domains: Pick<ActiveHosts, 'has'>;
  source: FileSource;
  visitors: Visitors;
  challengeAnswer: ChallengeAnswer;
  /** Where a custom domain is served over HTTPS, for those who come by plain HTTP; null: nowhere. */
  secureOrigin: (host: string) => string | null;
  log: Logger;
  count(method: string, status: number): void;
  /** Of the app whose site was shown; `bytes` of the body. */
  countOf(appId: string, status: number, bytes: number): void;
  proxy: AppProxy;
}

type Answering = ReturnType<Edge['answer']>;

/** Host → site → who asks → file. Without a promise where site, right and bytes are at hand. */
export function createEdge(parts: EdgeParts): Edge {
  const { sites, visitors } = parts;
  const hostOf = createHostReader({ ...parts, isDomain: parts.domains.has });

  function answer(request: EdgeRequest): Answering {
    // A server that proves a domain asks for it before anything is shown there.
    if (request.path.startsWith(challengePrefix))
      return answerChallenge(parts.challengeAnswer, request).then((answered) => asHost(request, answered));
    // It would outlive the release that brought it, and stand between visitors and the platform's own paths.
    if (request.header('service-worker') !== null)
      return asHost(request, pageAnswer(serviceWorkerPage, request.method));
    if (request.path.length + request.search.length > urlBytesMax)
      return asHost(request, pageAnswer(tooLongPage, request.method));
    const secure = request.scheme === 'http' ? secureAddress(request) : null;
    if (secure !== null) return asHost(request, redirectAnswer({ location: secure, status: 308 }));
    const site = sites.peek(request.host);
    if (site) return answerAt(site, request);
    const host = hostOf(request.host);
    if (host.kind === 'platform') return pageAnswer(notFoundPage, request.method);
    if (site === null) return nobodyAt(host, request);
    return sites
      .get(request.host, host)
      .then((found): Answering => (found ? answerAt(found, request) : nobodyAt(host, request)));
  }

  /** Of what is answered before it is known whose site it is. */
  function asHost({ host }: EdgeRequest, answered: EdgeAnswer): EdgeAnswer {
    return hostOf(host).kind === 'staging' ? noIndex(answered) : answered;
  }

  function secureAddress({ host, path, search }: EdgeRequest): string | null {
    const origin = parts.secureOrigin(host);
    return origin === null ? null : withSearch(`${origin}${path.replace(/[^!-~]/g, '')}`, search);
  }

  function answerAt(site: SiteSnapshot, request: EdgeRequest): Answering {
    if (site.hostKind !== 'staging') {
      if (site.app !== null) return platformPath(site, request) ?? passed(site, request);
      return shownTo(site, request);
    }
    // The same at every staging host, also at those that nobody has.
    if (request.path === '/robots.txt') return robotsAnswer(request.method);
    const answering = shownTo(site, request);
    return answering instanceof Promise ? answering.then(noIndex) : noIndex(answering);
  }

  function nobodyAt(host: SiteHost, request: EdgeRequest): EdgeAnswering {
    // It may have been removed while it was looked up: then it is answered as it is from now on.
    if (host.kind === 'domain')
      return pageAnswer(parts.domains.has(host.host) ? notFoundPage : misdirectedPage, request.method);
    if (host.kind === 'staging' && request.path === '/robots.txt') return robotsAnswer(request.method);
    const answering = platformPath(null, request) ?? visitors.turnAway(null, request);
    if (host.kind !== 'staging') return answering;
    return answering instanceof Promise ? answering.then(noIndex) : noIndex(answering);
  }

  function platformPath(site: SiteSnapshot | null, request: EdgeRequest): EdgeAnswering | null {
    if (!request.path.startsWith(sitePlatformPrefix)) return null;
    return visitors.platformPath(site, request) ?? pageAnswer(notFoundPage, request.method);
  }

  function shownTo(site: SiteSnapshot, request: EdgeRequest): EdgeAnswering {
    const own = platformPath(site, request);
    if (own) return own;
    if (site.isOpen) return contentOf(site, request);
    const mayVisit = visitors.visitorAt(site, request);
    if (typeof mayVisit === 'boolean')
      return mayVisit ? contentOf(site, request) : visitors.turnAway(site, request);
    return mayVisit.then((may) => (may ? contentOf(site, request) : visitors.turnAway(site, request)));
  }

  function passed(site: SiteSnapshot, request: EdgeRequest): AppAnswer {
    const again = async () => {
      const host = hostOf(request.host);
      return host.kind === 'platform' ? null : sites.get(request.host, host);
    };
    return { pass: (whole) => parts.proxy.pass({ site, request, whole, again }) };
  }

  function contentOf(site: SiteSnapshot, request: EdgeRequest): EdgeAnswering {
    const answering = fileOf(site, request);
    if (answering instanceof Promise) return answering.then((answer) => noted(site, answer));
    return noted(site, answering);
  }

  function noted({ appId }: SiteSnapshot, answer: EdgeAnswer): EdgeAnswer {
    const { body } = answer;
    const isStream = body instanceof ReadableStream;
    const bytes = isStream ? Number(answer.headers['content-length'] ?? 0) : (body?.length ?? 0);
    parts.countOf(appId, answer.status, bytes);
    return answer;
  }

  function fileOf(site: SiteSnapshot, request: EdgeRequest): EdgeAnswering {
    if (request.method !== 'GET' && request.method !== 'HEAD') return pageAnswer(methodPage, request.method);
    if (!site.release) return pageAnswer(nothingShownPage, request.method);
    return answerRelease(parts.source, site.release, request);
  }

  function faultOf(error: unknown, request: EdgeRequest): EdgeAnswer {
    const failure = error instanceof Failure ? error : failureOfDatabase(error);
    const line = { err: failure?.cause ?? error, host: request.host, path: request.path, route: 'site' };
    if (failure) parts.log.warn(line, 'a site could not be answered');
    else parts.log.error(line, 'a fault of the server');
    return asHost(request, pageAnswer(failure ? unavailablePage : faultPage, request.method));
  }

  function counted<A extends EdgeAnswer | AppAnswer>(answer: A, { method }: EdgeRequest): A {
    if ('pass' in answer) return answer;
    parts.count(method, answer.status);
    return answer;
  }

  return {
    serves: (host) => hostOf(host).kind !== 'platform',
    answer(request) {
      try {
        const answering = answer(request);
        if (!(answering instanceof Promise)) return counted(answering, request);
        return answering
          .catch((error: unknown) => faultOf(error, request))
          .then((answered) => counted(answered, request));
      } catch (error) {
        return counted(faultOf(error, request), request);
      }
    },
  };
}
