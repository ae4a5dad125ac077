import http from 'node:http';
import { urlBytesMax } from '@svc/contract/limits.ts';
import type { Logger } from 'pino';
import type { RequestInfo } from './api.ts';
import { clientAddress, type TrustedProxies } from './client-address.ts';
import { exposedHeaders, preflight, withCors } from './cors.ts';
import { failureOfDatabase } from './database-errors.ts';
import type { DirectAnswer, DirectHandle } from './direct.ts';
import type { HostHandle, HostListener } from './host-handle.ts';
import type { Metrics } from './metrics.ts';
import { Failure, fail, problemAnswer, problemResponse } from './problem.ts';
import type { PassedOn } from './raw-http/passed-on.ts';
import { requestIdOf } from './request-id.ts';
import { stopGently } from './stop-gently.ts';
import { type BunServer, webSocketHandler } from './web-sockets.ts';

export type Handle = (request: Request, url: URL, info: RequestInfo) => Promise<Response>;

/** How requests are answered, whichever listener they come by. */
export interface Answering {
  idleTimeout: number;
  maxRequestBodySize: number;
  development: false;
  fetch(request: Request, bun: BunServer): Response | Promise<Response | undefined>;
  websocket: typeof webSocketHandler;
  error(error: Error): Response;
}

export interface Serving {
  port: number;
  /** For another listener beside this one. */
  answering: Answering;
  /** Takes no new requests, lets those under way end, then closes what is left. */
  stop(graceMs: number): Promise<void>;
}

/** Cuts clients that send their request head drop by drop, and idle connections. */
const idleSecondsMax = 10;
/** Above the time a body may take to arrive, so that a slow client is told what was slow. */
const handlerMsMax = 45_000;
const inFlightMax = 2_000;
/** Well above the longest address, so that one that is too long is told so. */
const headBytesMax = 64 * 1024;
/** How long nothing must have come on open connections before they are closed. */
const lingerMs = 200;
/** No limit at all: bodies are read piece by piece, and each route has one of its own. */
const requestBytesMax = 2 ** 40;
/** Of a streamed body: above the silence that a route puts up with, so that a slow client is told what was slow. */
const streamIdleSecondsMax = 40;

/** The outermost layer: request ids, limits, errors to problems, counting and logging. */
export function serve(options: {
  host: string;
  port: number;
  trustedProxies: TrustedProxies;
  handle: Handle;
  /** Before all else, by the host. */
  sites?: () => HostHandle | null;
  direct?: () => DirectHandle | null;
  /** Whose connection it is, where another listener of ours handed it over. */
  clientOf?: PassedOn['clientOf'];
  /** What begins with one of these moves bodies of any size, which takes as long as it takes; what follows is a secret. */
  streams?: readonly string[];
  log: Logger;
  metrics: Metrics;
}): Serving {
  const { log, metrics } = options;
  let inFlight = 0;
  let stopping = false;
  const listener: HostListener = { streamIdleSecondsMax, isStopping: () => stopping, peerOf };

  const answering: Answering = {
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: requestBytesMax,
    development: false,
    websocket: webSocketHandler,
    fetch: (request, bun) => {
      const atSite = options.sites?.()?.answer(request, bun, listener);
      if (atSite) return atSite;
      const direct = options.direct?.();
      if (direct) {
        const at = pathStart(request.url);
        if (request.url.startsWith(direct.prefix, at)) return answerDirect(direct, request, at, bun);
      }
      return answerUsual(request, bun);
    },
    error: (error) => {
      const requestId = Bun.randomUUIDv7();
      log.error({ err: error, request_id: requestId }, 'unhandled');
      const response = problemResponse(fail('internal'), requestId);
      response.headers.set('x-request-id', requestId);
      return response;
    },
  };
  // Of the whole process, and read by Bun when it begins to listen. It refuses what is longer without a word of ours.
  Object.assign(http, { maxHeaderSize: headBytesMax });
  const server = Bun.serve({
    ...answering,
    hostname: options.host,
    port: options.port,
    reusePort: false,
  });

  function peerOf(request: Request, bun: BunServer): string {
    const peer = bun.requestIP(request);
    return options.clientOf?.(peer) ?? peer?.address ?? '';
  }

  async function answerUsual(request: Request, bun: BunServer): Promise<Response> {
    const begun = performance.now();
    const requestId = requestIdOf(request);
    let route = 'none';
    const deadline = new AbortController();
    inFlight++;
    metrics.inFlight.set(inFlight);
    const info: RequestInfo = {
      requestId,
      log: log.child({ request_id: requestId }),
      setRoute: (name) => {
        route = name;
      },
      deadline: deadline.signal,
      patient: () => bun.timeout(request, streamIdleSecondsMax),
      clientAddress: clientAddress(
        peerOf(request, bun),
        request.headers.get('x-forwarded-for'),
        options.trustedProxies,
      ),
    };
    // The Host header is part of it, and clients send anything there, or none.
    const asked = URL.parse(request.url);
    const url = asked ?? new URL('http://localhost/');
    const stream = options.streams?.find((prefix) => url.pathname.startsWith(prefix));
    const isStream = stream !== undefined;
    const timer = isStream ? undefined : setTimeout(() => deadline.abort(), handlerMsMax);
    // Long work answers in time or is refused; without this, the idle timeout would cut it without a word.
    bun.timeout(request, isStream ? streamIdleSecondsMax : handlerMsMax / 1000 + 5);
    try {
      if (!asked) throw fail('validation_failed', { detail: 'The Host header is not valid.' });
      const response = finish(await answer(request, url, info), url, requestId, stopping);
      report(response.status);
      return response;
    } catch (error) {
      const failed = problemResponse(failureOf(error, info.log), requestId);
      const response = finish(failed, url, requestId, stopping);
      report(response.status);
      return response;
    } finally {
      clearTimeout(timer);
      inFlight--;
      metrics.inFlight.set(inFlight);
    }

    function report(status: number): void {
      const seconds = (performance.now() - begun) / 1000;
      metrics.requests.inc({ route, method: request.method, status });
      metrics.seconds.observe({ route }, seconds);
      const line = {
        method: request.method,
        path: isStream ? `${stream}…` : url.pathname,
        route,
        status,
        ms: Math.round(seconds * 1e5) / 100,
      };
      if (status >= 500) info.log.warn(line, 'request');
      else info.log.info(line, 'request');
    }
  }

  /** See `DirectHandle`. What goes wrong is logged; what goes well is only counted. */
  async function answerDirect(
    direct: DirectHandle,
    request: Request,
    pathAt: number,
    bun: BunServer,
  ): Promise<Response> {
    const begun = performance.now();
    const requestId = requestIdOf(request);
    const { url, method } = request;
    const mark = url.indexOf('?', pathAt);
    const path = mark < 0 ? url.slice(pathAt) : url.slice(pathAt, mark);
    inFlight++;
    let answer: DirectAnswer;
    try {
      const early = method === 'OPTIONS' ? preflight(request, path) : null;
      if (early) {
        early.headers.set('x-request-id', requestId);
        return early;
      }
      if (url.length > urlBytesMax) throw fail('uri_too_long');
      if (inFlight > inFlightMax)
        throw fail('unavailable', { detail: 'Too many requests at once; try again.' });
      const patient = () => bun.timeout(request, handlerMsMax / 1000 + 5);
      // A body may take its time to arrive.
      if (method !== 'GET') patient();
      const search = mark < 0 ? '' : url.slice(mark + 1);
      answer = await direct.answer(request, path, search, { requestId, log, patient });
    } catch (error) {
      const failure = failureOf(error, log.child({ request_id: requestId }));
      answer = problemAnswer(failure, requestId);
    } finally {
      inFlight--;
    }
    const seconds = (performance.now() - begun) / 1000;
    metrics.direct(method, answer.status, seconds);
    if (answer.status >= 400 || log.isLevelEnabled('debug')) {
      const line = {
        request_id: requestId,
        method,
        path,
        route: 'rows',
        status: answer.status,
        ms: Math.round(seconds * 1e5) / 100,
      };
      if (answer.status >= 500) log.warn(line, 'request');
      else if (answer.status >= 400) log.info(line, 'request');
      else log.debug(line, 'request');
    }
    const { headers } = answer;
    headers['x-request-id'] = requestId;
    headers['x-content-type-options'] = 'nosniff';
    headers['access-control-allow-origin'] = '*';
    headers['access-control-expose-headers'] = exposedHeaders;
    if (stopping) headers.connection = 'close';
    return new Response(answer.body as BodyInit | null, answer);
  }

  async function answer(request: Request, url: URL, info: RequestInfo): Promise<Response> {
    if (request.url.length > urlBytesMax) throw fail('uri_too_long');
    if (inFlight > inFlightMax)
      throw fail('unavailable', { detail: 'Too many requests at once; try again.' });
    const early = preflight(request, url.pathname);
    if (early) return early;
    const overdue = Promise.withResolvers<never>();
    const onDeadline = () => overdue.reject(fail('query_timeout', { detail: 'The answer took too long.' }));
    info.deadline.addEventListener('abort', onDeadline, { once: true });
    try {
      return await Promise.race([options.handle(request, url, info), overdue.promise]);
    } finally {
      info.deadline.removeEventListener('abort', onDeadline);
    }
  }

  return {
    port: server.port ?? options.port,
    answering,
    async stop(graceMs) {
      stopping = true;
      await stopGently(server, { graceMs, lingerMs });
    },
  };
}

/** Behind `http://host`. */
function pathStart(url: string): number {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return at < 0 ? url.length : at;
}

function failureOf(error: unknown, log: Logger): Failure {
  const failure = error instanceof Failure ? error : failureOfDatabase(error);
  if (failure === null) {
    log.error({ err: error }, 'a fault of the server');
    return fail('internal');
  }
  if (failure.cause) log.warn({ err: failure.cause, code: failure.code }, 'cause');
  return failure;
}

/** Bodies are for HEAD as well: Bun says how long they are, and sends none. */
function finish(response: Response, url: URL, requestId: string, stopping: boolean): Response {
  const headers = new Headers(response.headers);
  headers.set('x-request-id', requestId);
  headers.set('x-content-type-options', 'nosniff');
  withCors(url.pathname, headers);
  if (stopping) headers.set('connection', 'close');
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
