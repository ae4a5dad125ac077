import { type Failure, fail } from '../../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from '../../http/client-address.ts';
import type { AppProxy, Edge, EdgeRequest, EdgeResponse, ProxyRequest } from '../../http/edge-request.ts';
import type { HostHandler, ListenerInfo } from '../../http/handlers.ts';
import { readRequestId } from '../../http/headers.ts';
import type { BunServer } from '../../http/listener.ts';
import { extendOnRead } from '../../http/read-body.ts';
import { challengePrefix } from '../certificates/certificates.ts';
import { problemResponse } from '../visitors/site-responses.ts';
import { createPlatformNames } from './active-hosts.ts';
import { badHostPage, misdirectedPage, type PlainPage, pageResponse, unavailablePage } from './plain-page.ts';

export const inFlightMax = 2_000;
/** Including requests that got 503 while their work still runs. Beyond this limit nothing is started. */
export const startedMax = 5 * inFlightMax;
/** Up to this size a stream is read whole, because Bun sends a stream without its length. */
const wholeBytesMax = 1024 * 1024;
/** Requested by machines at any host name or address. */
const atAnyHost = ['/healthz', '/readyz', '/metrics'];

/** Serves sites at the listener of the platform. Returns null for the platform's own hosts. */
export function createSiteHandler(options: {
  edge: Edge;
  baseUrl: string;
  extraHosts: readonly string[];
  appsDomain: string;
  count(method: string, status: number): void;
  trustedProxies: TrustedProxies;
}): HostHandler {
  const { edge } = options;
  const { host: ownAuthority } = new URL(options.baseUrl);
  // Most platform requests match by one comparison.
  const own: readonly [string, string] = [`http://${ownAuthority}/`, `https://${ownAuthority}/`];
  let ownAddress = own[0];
  const isPlatformName = createPlatformNames(options);
  let inFlight = 0;

  return {
    isPlatform: (host) => !edge.serves(host) && isPlatformName(host),
    answer(request, bun, listener) {
      const { url } = request;
      const sent = request.headers.get('host') ?? '';
      // Several Host headers arrive as one list. Characters that Bun would decode, or read as user or path, are refused:
      // a proxy in front may read them differently.
      if (sent !== ownAuthority && !hostPattern.test(sent)) return refuse(request, listener, badHost);
      if (url.startsWith(ownAddress) || url.startsWith(own[0]) || url.startsWith(own[1])) return null;
      // An invalid Host header leaves only the path; CONNECT has no URL.
      if (!url.startsWith('http://') && !url.startsWith('https://')) return null;
      const begin = url.indexOf('://') + 3;
      const end = url.indexOf('/', begin);
      const authority = url.slice(begin, end);
      const host = authority.replace(/:\d*$/, '').replace(/\.$/, '');
      if (!edge.serves(host)) {
        if (isPlatformName(host)) {
          ownAddress = url.slice(0, end + 1);
          return null;
        }
        const { path } = pathIn(url, end);
        return atAnyHost.includes(path) || path.startsWith(challengePrefix)
          ? null
          : refuse(request, listener, misdirected);
      }
      const parsed = readRequest(request, { host, authority, pathAt: end });
      const peer = listener.peer(request, bun);
      const scheme = isHttpsAtProxy(request, peer.address) ? 'https' : peer.scheme;
      const busy = () => pageResponse(unavailablePage, request.method);
      const answering = inFlight < startedMax ? edge.answer({ ...parsed, scheme }) : busy();
      const touch = () => bun.timeout(request, listener.streamIdleSecondsMax);
      const respond = (answer: EdgeResponse) =>
        toResponse(parsed.requestId(), answer, { touch, isStopping: listener.isStopping() });
      const pass = async (answer: AppProxy) => {
        const response = await answer.proxy(proxyRequest(request, bun, listener));
        return response && appResponse(parsed.requestId(), response, listener.isStopping());
      };
      if (!(answering instanceof Promise)) return 'proxy' in answering ? pass(answering) : respond(answering);
      const isTooMuch = inFlight >= inFlightMax;
      inFlight++;
      const answered = answering.then(isTooMuch ? dropBody : wholeIfSmall).finally(() => {
        inFlight--;
      });
      if (!isTooMuch) return answered.then((answer) => ('proxy' in answer ? pass(answer) : respond(answer)));
      answered.catch(() => {});
      return respond(busy());
    },
  };

  function refuse(request: Request, listener: ListenerInfo, { page, failure }: Refusal): Response {
    const requestId = readRequestId(request);
    const wantsPage = request.headers.get('accept')?.includes('text/html');
    options.count(request.method, page.status);
    const connection = { touch: () => {}, isStopping: listener.isStopping() };
    if (wantsPage) return toResponse(requestId, pageResponse(page, request.method), connection);
    const response = problemResponse({ method: request.method, requestId: () => requestId }, failure);
    return toResponse(requestId, response, connection);
  }

  function proxyRequest(request: Request, bun: BunServer, listener: ListenerInfo): ProxyRequest {
    const sentFor = request.headers.get('x-forwarded-for');
    return {
      request,
      clientAddress: resolveClientAddress(
        listener.peer(request, bun).address,
        sentFor,
        options.trustedProxies,
      ),
      isStopping: listener.isStopping,
      disableTimeout: () => bun.timeout(request, 0),
      upgrade: (data, headers) => bun.upgrade(request, { data, headers }),
    };
  }

  function isHttpsAtProxy(request: Request, peer: string): boolean {
    if (request.headers.get('x-forwarded-proto')?.trim().toLowerCase() !== 'https') return false;
    return options.trustedProxies.includes(peer);
  }
}

const hostPattern = /^[\w.:[\]-]*$/;

interface Refusal {
  page: PlainPage;
  failure: Failure;
}

const badHost: Refusal = {
  page: badHostPage,
  failure: fail('validation_failed', { detail: 'The Host header is not valid.' }),
};
const misdirected: Refusal = { page: misdirectedPage, failure: fail('misdirected_request') };

async function wholeIfSmall(answer: EdgeResponse | AppProxy): Promise<EdgeResponse | AppProxy> {
  if ('proxy' in answer) return answer;
  const { body, headers } = answer;
  if (!(body instanceof ReadableStream) || Number(headers['content-length'] ?? Infinity) > wholeBytesMax)
    return answer;
  return { ...answer, body: await new Response(body).bytes() };
}

async function dropBody(answer: EdgeResponse | AppProxy): Promise<EdgeResponse | AppProxy> {
  if ('proxy' in answer) return answer;
  if (answer.body instanceof ReadableStream) await answer.body.cancel();
  return { ...answer, body: null };
}

function readRequest(
  request: Request,
  { host, authority, pathAt }: { host: string; authority: string; pathAt: number },
): Omit<EdgeRequest, 'scheme'> {
  const { url, headers } = request;
  let requestId: string | null = null;
  return {
    method: request.method,
    host,
    authority,
    ...pathIn(url, pathAt),
    header: (name) => headers.get(name),
    requestId() {
      requestId ??= readRequestId(request);
      return requestId;
    },
  };
}

function pathIn(url: string, at: number): { path: string; search: string } {
  const hash = url.indexOf('#', at);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf('?', at);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  return { path: url.slice(at, pathEnd), search: url.slice(pathEnd + 1, end) };
}

function toResponse(
  requestId: string,
  { status, headers, body }: EdgeResponse,
  connection: { touch: () => void; isStopping: boolean },
): Response {
  const sent: Record<string, string> = { ...headers, 'x-request-id': requestId };
  if (connection.isStopping) sent.connection = 'close';
  const bytes = body instanceof ReadableStream ? extendOnRead(body, connection.touch) : body;
  return new Response(bytes as BodyInit | null, { status, headers: sent });
}

function appResponse(
  requestId: string,
  { status, headers, cookies = [], body }: EdgeResponse,
  isStopping: boolean,
): Response {
  const sent = new Headers({ ...headers, 'x-request-id': requestId });
  for (const cookie of cookies) sent.append('set-cookie', cookie);
  if (isStopping) sent.set('connection', 'close');
  const isTyped = !(body instanceof Uint8Array) || headers['content-type'];
  return new Response((isTyped ? body : streamOf(body)) as BodyInit | null, { status, headers: sent });
}

/** For bytes without a content type: Bun would add one, and browsers would download the response. */
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}
