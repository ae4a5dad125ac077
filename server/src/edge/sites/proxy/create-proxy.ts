import { fail } from '../../../core/problem.ts';
import { appTag, userTag } from '../../../core/tags.ts';
import type { EdgeResponse } from '../../../http/edge-request.ts';
import { problemResponse } from '../../visitors/site-responses.ts';
import type { SiteSnapshot } from '../site-cache.ts';
import { createAppClient } from './app-client.ts';
import { createDeadlines } from './deadlines.ts';
import { anyCredential, createReachable, createRecentChanges } from './instance-health.ts';
import { passRequest, refusal } from './pass-request.ts';
import { passSocket } from './pass-socket.ts';
import { requestHeaders } from './passed-headers.ts';
import {
  createActivity,
  createSlots,
  createWaker,
  type ProxyDeps,
  type ProxyExchange,
  type ProxyInput,
  proxyLimits,
  type Slot,
} from './pick-address.ts';

export interface AppProxy {
  pass(input: ProxyInput): Promise<EdgeResponse | undefined>;
  stop(): void;
}

export function createProxy(deps: ProxyDeps): AppProxy {
  const limits = { ...proxyLimits, ...deps.limits };
  const deadlines = createDeadlines(limits);
  const reachable = createReachable(limits);
  const client = createAppClient();
  const waitForStart = createWaker(deps.sleep);
  const shared = { ...deps, limits, client, deadlines, reachable, waitForStart, turn: 0 };
  const changes = createRecentChanges(deps.invalidation);
  const slots = createSlots(limits);
  const activity = createActivity(deps.sleep, { isOpen: slots.isOpen, log: deps.log });

  function respond({ request, site }: ProxyInput, answer: EdgeResponse): EdgeResponse {
    deps.count(request.method, answer.status);
    const bytes = answer.body instanceof Uint8Array ? answer.body.length : 0;
    deps.countApp(site.appId, answer.status, bytes, -1);
    return answer;
  }

  /** Streams and WebSockets are authorized again when the app or the person changes. */
  function createAccessCheck(input: ProxyInput, userId: string | null, asOf: number) {
    const { request, whole } = input;
    const ofPerson = userId === null ? [] : [userTag(userId), anyCredential];
    let site: SiteSnapshot | null = input.site;
    let seen = asOf;
    return async (): Promise<boolean> => {
      if (whole.isStopping()) return true;
      const now = changes.now();
      const isOther = changes.since(seen, [appTag(input.site.appId)]);
      if (isOther || changes.since(seen, ofPerson)) {
        if (isOther) site = await input.again();
        if (!site?.app) return true;
        const auth = await deps.authenticateVisitor(site, site.app, request);
        if ('refused' in auth || auth.userId !== userId) return true;
      }
      seen = now;
      return false;
    };
  }

  async function answer(input: ProxyInput, slot: Slot): Promise<EdgeResponse | undefined> {
    const { site, request, whole } = input;
    const { app } = site;
    const startedAt = performance.now();
    if (!app || !request.path.startsWith('/')) return respond(input, refusal(request, 'unavailable'));
    // TRACE and CONNECT are for proxies, not for apps.
    if (request.method === 'TRACE' || request.method === 'CONNECT')
      return respond(input, problemResponse(request, fail('method_not_allowed')));
    const asOf = changes.now();
    const auth = await deps.authenticateVisitor(site, app, request);
    if ('refused' in auth) return respond(input, auth.refused);
    deps.onVisit?.(site, app);
    const { person, userId } = auth;
    if (app.wakeMs !== null && site.hostKind !== 'staging') activity.note(site.appId);
    const headers = requestHeaders(whole.request.headers, {
      authMode: app.authMode,
      authority: request.authority,
      scheme: request.scheme,
      clientAddress: whole.clientAddress,
      requestId: request.requestId(),
      userToken: person && deps.tokens.tokenFor({ appId: site.appId, tenantSlug: app.tenantSlug }, person),
    });
    const exchange: ProxyExchange = {
      ...input,
      app,
      person,
      headers,
      slot,
      startedAt,
      isOver: createAccessCheck(input, userId, asOf),
    };
    const isSocket = request.header('upgrade')?.toLowerCase() === 'websocket' && request.method === 'GET';
    const result = await (isSocket ? passSocket(shared, exchange) : passRequest(shared, exchange));
    return typeof result === 'string' ? respond(input, refusal(request, result)) : result;
  }

  return {
    async pass(input) {
      input.whole.disableTimeout();
      const { request, site } = input;
      const slot = slots.acquire(site.appId);
      if (slot === null) return respond(input, refusal(request, 'unavailable'));
      try {
        return await answer(input, slot);
      } catch (error) {
        deps.log.error({ err: error, app: site.appId, path: request.path }, 'proxy request failed');
        return respond(input, refusal(request, 'app_unreachable'));
      } finally {
        slot.release();
      }
    },
    stop() {
      deadlines.stop();
      client.close();
      activity.stop();
    },
  };
}
