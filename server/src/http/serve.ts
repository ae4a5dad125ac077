import http from 'node:http';
import { urlBytesMax } from '@svc/contract/limits.ts';
import type { Logger } from 'pino';
import { databaseError } from '../core/db.ts';
import type { Metrics } from '../core/metrics.ts';
import { Failure, fail, problemResponse, renderProblem } from '../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from './client-address.ts';
import type { EdgeResponse } from './edge-request.ts';
import type {
  FastPathHandler,
  FastPathInfo,
  FastPathRequest,
  FastPathResponse,
  HostHandler,
  ListenerInfo,
  PassThroughClient,
  RequestHandler,
  RequestInfo,
} from './handlers.ts';
import {
  corsHeaders,
  preflightResponse,
  readRequestId,
  rowHeaders,
  setCorsHeaders,
  strictTransportHeader,
} from './headers.ts';
import { type BunServer, stopGracefully, webSocketHandler } from './listener.ts';
import type { PassThroughClients } from './raw-http/pass-through.ts';
import { isFastRequest, type RowsListener } from './raw-http/raw-request.ts';

interface HttpServer {
  port: number;
  rows(): RowsListener | null;
  announceStop(): void;
  stop(graceMs: number): Promise<void>;
}

/** For idle connections, and for clients that send their request head slowly. */
const idleSecondsMax = 10;
/** Above `bodyReceiveMsMax`, so that a slow client gets the error of the body and not this timeout. */
const handlerMsMax = 45_000;
const inFlightMax = 2_000;
/** Well above `urlBytesMax`, so that a URL that is too long gets a response. */
const headBytesMax = 64 * 1024;
const idleMs = 200;
/** Effectively no limit: bodies are read in pieces, and each route has its own limit. */
const requestBytesMax = 2 ** 40;
/** For streamed bodies; above the idle limits of the routes, so that a slow client gets their error. */
const streamIdleSecondsMax = 40;

/** The general server. In production it listens on the loopback address, behind the listeners of `raw-http`. */
export function serve(options: {
  host: string;
  port: number;
  trustedProxies: TrustedProxies;
  handle: RequestHandler;
  hostHandler?: () => HostHandler | null;
  fastPath?: () => FastPathHandler | null;
  clients?: PassThroughClients;
  /** Prefixes of paths with bodies of any size and without a deadline. The rest of such a path is secret. */
  streamPrefixes?: readonly string[];
  /** Value of `Strict-Transport-Security` for responses without one. */
  strictTransport?: string | null;
  /** How many requests in progress may have one credential, or none: where all clients have one address. */
  inFlightPerCredentialMax?: number;
  log: Logger;
  metrics: Metrics;
}): HttpServer {
  const { log, metrics, inFlightPerCredentialMax = Number.POSITIVE_INFINITY } = options;
  const shares = new Map<string, number>();
  let inFlight = 0;
  let isStopping = false;
  let answeredRows: { handler: FastPathHandler; listener: RowsListener } | null = null;
  const listener: ListenerInfo = { streamIdleSecondsMax, isStopping: () => isStopping, peer: findPeer };

  // A setting of the whole process that Bun reads when it starts to listen. Bun itself answers longer heads.
  Object.assign(http, { maxHeaderSize: headBytesMax });
  const server: BunServer = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: false,
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: requestBytesMax,
    development: false,
    websocket: webSocketHandler,
    fetch: (request, bun) => {
      if (options.clients && !options.clients.find(bun.requestIP(request))) return refuseStranger();
      if (hasRepeatedHeader(request)) return refuseRepeatedHeader(request);
      const answering = answer(request, bun);
      if (options.strictTransport == null) return answering;
      return answering instanceof Promise
        ? answering.then(withStrictTransport)
        : withStrictTransport(answering);
    },
    error: (error) => {
      const requestId = Bun.randomUUIDv7();
      log.error({ err: error, request_id: requestId }, 'unhandled error');
      const response = problemResponse(fail('internal'), requestId);
      response.headers.set('x-request-id', requestId);
      for (const [name, value] of Object.entries(corsHeaders)) response.headers.set(name, value);
      return withStrictTransport(response);
    },
  });

  function answer(request: Request, bun: BunServer): Response | Promise<Response | undefined> {
    const hostResponse = options.hostHandler?.()?.answer(request, bun, listener);
    if (hostResponse) return hostResponse;
    const fastPath = options.fastPath?.();
    if (fastPath) {
      const at = pathStart(request.url);
      if (request.url.startsWith(fastPath.prefix, at)) return answerFastPath(fastPath, request, at, bun);
    }
    return answerRequest(request, bun);
  }

  function withStrictTransport<R extends Response | undefined>(response: R): R {
    const { strictTransport } = options;
    if (strictTransport != null && response?.headers.has(strictTransportHeader) === false)
      response.headers.set(strictTransportHeader, strictTransport);
    return response;
  }

  function findPeer(request: Request, bun: BunServer): PassThroughClient {
    const peer = bun.requestIP(request);
    return options.clients?.find(peer) ?? { address: peer?.address ?? '', scheme: 'http' };
  }

  /** Only the listeners in front check requests strictly, and know whom they come from. */
  function refuseStranger(): Response {
    const failure = fail('forbidden', { detail: 'This port is for the server itself.' });
    return problemResponse(failure, Bun.randomUUIDv7());
  }

  function refuseRepeatedHeader(request: Request): Response {
    const requestId = readRequestId(request);
    const failure = fail('validation_failed', {
      detail: 'The request has more than one Content-Length or Host header.',
      headers: { ...corsHeaders, 'x-request-id': requestId, connection: 'close' },
    });
    metrics.requests.inc({ route: 'none', method: request.method, status: 400 });
    return problemResponse(failure, requestId);
  }

  function clientAddress(request: Request, bun: BunServer): string {
    const forwardedFor = request.headers.get('x-forwarded-for');
    return resolveClientAddress(findPeer(request, bun).address, forwardedFor, options.trustedProxies);
  }

  async function answerRequest(request: Request, bun: BunServer): Promise<Response> {
    const startedAt = performance.now();
    const requestId = readRequestId(request);
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
      extendTimeout: () => bun.timeout(request, streamIdleSecondsMax),
      clientAddress: clientAddress(request, bun),
    };
    const parsedUrl = URL.parse(request.url);
    const url = parsedUrl ?? new URL('http://localhost/');
    const streamPrefix = options.streamPrefixes?.find((prefix) => url.pathname.startsWith(prefix));
    const isStream = streamPrefix !== undefined;
    const timer = isStream ? undefined : setTimeout(() => deadline.abort(), handlerMsMax);
    // Above the deadline: Bun's idle timeout would close the connection without a response.
    bun.timeout(request, isStream ? streamIdleSecondsMax : handlerMsMax / 1000 + 5);
    try {
      const handled = await handleWithDeadline(request, parsedUrl, info).catch((error: unknown) =>
        problemResponse(toFailure(error, info.log), requestId),
      );
      const response = withCommonHeaders(handled, url, info, isStopping);
      report(response.status);
      return response;
    } finally {
      clearTimeout(timer);
      inFlight--;
      metrics.inFlight.set(inFlight);
    }

    function report(status: number): void {
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.requests.inc({ route, method: request.method, status });
      metrics.seconds.observe({ route }, seconds);
      const path = isStream ? `${streamPrefix}…` : url.pathname;
      const line = { method: request.method, path, route, status, ms: Math.round(seconds * 1e5) / 100 };
      info.log[status >= 500 ? 'warn' : 'info'](line, 'request');
    }
  }

  async function answerFastPath(fastPath: FastPathHandler, request: Request, pathAt: number, bun: BunServer) {
    const requestId = readRequestId(request);
    const { url, method } = request;
    const queryAt = url.indexOf('?', pathAt);
    const path = queryAt < 0 ? url.slice(pathAt) : url.slice(pathAt, queryAt);
    const preflight = method === 'OPTIONS' ? preflightResponse(request, path) : null;
    if (preflight) {
      preflight.headers.set('x-request-id', requestId);
      return preflight;
    }
    const info: FastPathInfo = {
      requestId,
      extendTimeout: () => bun.timeout(request, handlerMsMax / 1000 + 5),
      clientAddress: () => clientAddress(request, bun),
    };
    if (method !== 'GET') info.extendTimeout();
    const search = queryAt < 0 ? '' : url.slice(queryAt + 1);
    const { status, body, ...response } = await runFastPath(fastPath, request, path, search, info);
    const headers = { ...response.headers, ...response.common, 'x-request-id': requestId };
    if (isStopping) Object.assign(headers, { connection: 'close' });
    return new Response(body as BodyInit | null, { status, headers });
  }

  async function runFastPath(
    fastPath: FastPathHandler,
    request: FastPathRequest,
    path: string,
    search: string,
    info: FastPathInfo,
  ): Promise<EdgeResponse> {
    const startedAt = performance.now();
    const { method } = request;
    inFlight++;
    let response: FastPathResponse;
    let releaseShare: (() => void) | undefined;
    try {
      requireCapacity(path.length + search.length);
      releaseShare = takeShare(request.headers);
      response = await fastPath.answer(request, path, search, info);
    } catch (error) {
      const { requestId } = info;
      response = renderProblem(toFailure(error, log.child({ request_id: requestId })), requestId);
    } finally {
      inFlight--;
      releaseShare?.();
    }
    const { status, headers, body } = response;
    const seconds = (performance.now() - startedAt) / 1000;
    metrics.fastPath(method, status, seconds);
    const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
    if (log.isLevelEnabled(level)) {
      const ms = Math.round(seconds * 1e5) / 100;
      log[level]({ request_id: info.requestId, method, path, route: 'rows', status, ms }, 'request');
    }
    if (info.responseHeaders) Object.assign(headers, info.responseHeaders);
    return { status, headers, common: rowHeaders, body: typeof body === 'string' ? Buffer.from(body) : body };
  }

  function listenForRows(fastPath: FastPathHandler): RowsListener {
    return {
      prefix: fastPath.prefix,
      answers: (head) => {
        if (!isFastRequest(head) || head.request.host === '') return false;
        return options.hostHandler?.()?.isPlatform(head.request.host) ?? true;
      },
      answer: (request, path, search, info) => runFastPath(fastPath, request, path, search, info),
    };
  }

  function requireCapacity(urlBytes: number): void {
    if (urlBytes > urlBytesMax) throw fail('uri_too_long');
    if (inFlight > inFlightMax)
      throw fail('unavailable', { detail: 'Too many concurrent requests. Try again later.' });
  }

  /** A made-up credential is refused before a body is read: only a valid one can occupy a share for long. */
  function takeShare(headers: Pick<Headers, 'get'> | null): (() => void) | undefined {
    if (inFlightPerCredentialMax === Number.POSITIVE_INFINITY) return undefined;
    const credential = headers?.get('authorization') ?? headers?.get('x-api-key') ?? '';
    const held = shares.get(credential) ?? 0;
    if (held >= inFlightPerCredentialMax)
      throw fail('unavailable', {
        detail: 'Too many concurrent requests with this credential. Try again later.',
      });
    shares.set(credential, held + 1);
    return () => {
      const left = (shares.get(credential) ?? 1) - 1;
      if (left === 0) shares.delete(credential);
      else shares.set(credential, left);
    };
  }

  async function handleWithDeadline(request: Request, url: URL | null, info: RequestInfo): Promise<Response> {
    if (!url) throw fail('validation_failed', { detail: 'The Host header is not valid.' });
    requireCapacity(request.url.length);
    const preflight = preflightResponse(request, url.pathname);
    if (preflight) return preflight;
    // Other paths read a body before they look at a credential, which may be made up.
    const releaseShare = takeShare(url.pathname.startsWith('/api/v1/') ? request.headers : null);
    const overdue = Promise.withResolvers<never>();
    const onDeadline = () => overdue.reject(fail('query_timeout', { detail: 'The response took too long.' }));
    info.deadline.addEventListener('abort', onDeadline, { once: true });
    try {
      return await Promise.race([options.handle(request, url, info), overdue.promise]);
    } finally {
      info.deadline.removeEventListener('abort', onDeadline);
      releaseShare?.();
    }
  }

  return {
    port: server.port ?? options.port,
    rows() {
      const fastPath = options.fastPath?.() ?? null;
      if (fastPath !== answeredRows?.handler)
        answeredRows = fastPath && { handler: fastPath, listener: listenForRows(fastPath) };
      return answeredRows?.listener ?? null;
    },
    announceStop() {
      isStopping = true;
    },
    async stop(graceMs) {
      isStopping = true;
      await stopGracefully(server, { graceMs, idleMs });
    },
  };
}

/** Bun joins repeated headers. A proxy in front may have read another one of them (RFC 9112 §3.2, §6.3). */
function hasRepeatedHeader({ headers }: Request): boolean {
  return headers.get('content-length')?.includes(',') === true || headers.get('host')?.includes(',') === true;
}

function pathStart(url: string): number {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return at < 0 ? url.length : at;
}

function toFailure(error: unknown, log: Logger): Failure {
  const failure = error instanceof Failure ? error : databaseError(error);
  if (failure === null) {
    log.error({ err: error }, 'internal server error');
    return fail('internal');
  }
  if (failure.cause) log.warn({ err: failure.cause, code: failure.code }, 'request failed');
  return failure;
}

/** Responses to HEAD keep their body: Bun sends its length and not the body. */
function withCommonHeaders(response: Response, url: URL, info: RequestInfo, isStopping: boolean): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(info.responseHeaders ?? {})) headers.set(name, value);
  headers.set('x-request-id', info.requestId);
  headers.set('x-content-type-options', 'nosniff');
  setCorsHeaders(url.pathname, headers);
  if (isStopping) headers.set('connection', 'close');
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
