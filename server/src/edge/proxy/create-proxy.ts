import type { Logger } from 'pino';
import { userTag } from '../../identity/tags.ts';
import type { EdgeAnswer, EdgeRequest, WholeRequest } from '../../plumbing/edge-request.ts';
import { fail } from '../../plumbing/problem.ts';
import { appTag } from '../../tables/catalogue.ts';
import type { RunningApp, SiteSnapshot } from '../site-snapshot.ts';
import type { UnderWay } from '../under-way.ts';
import type { Person, UserTokens } from '../user-tokens.ts';
import { problemOf, type WhoAsks } from '../who-asks.ts';
import { createDeadlines } from './deadlines.ts';
import { passRequest } from './pass-request.ts';
import { passSocket } from './pass-socket.ts';
import { passedHeaders } from './passed-headers.ts';
import { createPlaces, type Place } from './places.ts';
import { createReachable } from './reachable.ts';
import { anyCredential, createRecentChanges } from './recent-changes.ts';
import { refusal } from './refusal.ts';

/** A request to an app that answers by itself. */
export interface Passing {
  site: SiteSnapshot;
  request: EdgeRequest;
  whole: WholeRequest;
  /** The site as it is now, looked up anew. */
  again(): Promise<SiteSnapshot | null>;
}

export interface AppProxy {
  /** Undefined: it has become a WebSocket. */
  pass(passing: Passing): Promise<Response | undefined>;
  stop(): void;
}

export interface ProxyLimits {
  connectMs: number;
  firstByteMs: number;
  /** Between two pieces of a body, either way. */
  idleMs: number;
  /** Of what is meant to stay open: event streams and WebSockets. */
  longIdleMs: number;
  /** How often it is looked whether one of them is over. */
  everyMs: number;
  /** Requests and WebSockets that are open, until their last byte. */
  atOnceMax: number;
  /** As many of one app: none takes what is there for all. */
  atOnceOfAppMax: number;
}

export const proxyLimits: ProxyLimits = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  idleMs: 60_000,
  longIdleMs: 600_000,
  everyMs: 500,
  atOnceMax: 10_000,
  atOnceOfAppMax: 1_000,
};

export interface ProxyParts {
  whoAsks: (site: SiteSnapshot, app: RunningApp, request: EdgeRequest) => Promise<WhoAsks>;
  tokens: Pick<UserTokens, 'tokenFor'>;
  underWay: UnderWay;
  invalidation: { onChange(listener: (tag: string | null) => void): void };
  count(method: string, status: number): void;
  /** `ms` until the answer began. */
  countOf(appId: string, status: number, bytes: number, ms: number): void;
  log: Logger;
  limits?: Partial<ProxyLimits>;
}

/** All that passing on one request needs. */
export interface Course extends Passing {
  app: RunningApp;
  person: Person | null;
  headers: Headers;
  /** Whether what is open must end: the server stops, or what it was opened by counts no longer. */
  isOver(): boolean | Promise<boolean>;
  place: Place;
  begun: number;
}

export function createProxy(parts: ProxyParts): AppProxy {
  const limits = { ...proxyLimits, ...parts.limits };
  const deadlines = createDeadlines(limits);
  const reachable = createReachable(limits);
  const shared = { ...parts, limits, deadlines, reachable, turn: 0 };
  const changes = createRecentChanges(parts.invalidation);
  const places = createPlaces(limits);

  function sent(passing: Passing, answer: EdgeAnswer): Response {
    const { request, whole, site } = passing;
    parts.count(request.method, answer.status);
    const bytes = answer.body instanceof Uint8Array ? answer.body.length : 0;
    parts.countOf(site.appId, answer.status, bytes, -1);
    const headers: Record<string, string> = { ...answer.headers, 'x-request-id': request.requestId() };
    if (whole.isStopping()) headers.connection = 'close';
    return new Response(answer.body as BodyInit | null, { status: answer.status, headers });
  }

  /** What is open stays open only for as long as a request would be let in; asked when that may have changed. */
  function isOverFor(passing: Passing, userId: string | null, asOf: number) {
    const { request, whole } = passing;
    const ofPerson = userId === null ? [] : [userTag(userId), anyCredential];
    let site: SiteSnapshot | null = passing.site;
    let seen = asOf;
    return async (): Promise<boolean> => {
      if (whole.isStopping()) return true;
      const now = changes.now();
      const isOther = changes.since(seen, [appTag(passing.site.appId)]);
      if (isOther || changes.since(seen, ofPerson)) {
        if (isOther) site = await passing.again();
        if (!site?.app) return true;
        const asks = await parts.whoAsks(site, site.app, request);
        if ('refused' in asks || asks.userId !== userId) return true;
      }
      seen = now;
      return false;
    };
  }

  async function answer(passing: Passing, place: Place): Promise<Response | undefined> {
    const { site, request, whole } = passing;
    const { app } = site;
    const begun = performance.now();
    if (!app || !request.path.startsWith('/')) return sent(passing, refusal(request, 'unavailable'));
    // They are for whoever passes requests on, and not for apps.
    if (request.method === 'TRACE' || request.method === 'CONNECT')
      return sent(passing, problemOf(request, fail('method_not_allowed')));
    const asOf = changes.now();
    const asks = await parts.whoAsks(site, app, request);
    if ('refused' in asks) return sent(passing, asks.refused);
    const { person, userId } = asks;
    const headers = passedHeaders(whole.request.headers, {
      authMode: app.authMode,
      authority: request.authority,
      scheme: request.scheme,
      clientAddress: whole.clientAddress,
      requestId: request.requestId(),
      userToken: person && parts.tokens.tokenFor({ appId: site.appId, tenantSlug: app.tenantSlug }, person),
    });
    const course: Course = {
      ...{ ...passing, app, person, headers, place, begun },
      isOver: isOverFor(passing, userId, asOf),
    };
    const isSocket = request.header('upgrade')?.toLowerCase() === 'websocket' && request.method === 'GET';
    const result = await (isSocket ? passSocket(shared, course) : passRequest(shared, course));
    return typeof result === 'string' ? sent(passing, refusal(request, result)) : result;
  }

  return {
    async pass(passing) {
      passing.whole.patient();
      const { request, site } = passing;
      const place = places.enter(site.appId);
      if (place === null) return sent(passing, refusal(request, 'unavailable'));
      try {
        return await answer(passing, place);
      } catch (error) {
        parts.log.error({ err: error, app: site.appId, path: request.path }, 'an app could not be asked');
        return sent(passing, refusal(request, 'app_unreachable'));
      } finally {
        place.passed();
      }
    },
    stop: deadlines.stop,
  };
}

export type ProxyShared = ProxyParts & {
  limits: ProxyLimits;
  deadlines: ReturnType<typeof createDeadlines>;
  reachable: ReturnType<typeof createReachable>;
  /** Whose turn it is among the addresses of an app. */
  turn: number;
};
