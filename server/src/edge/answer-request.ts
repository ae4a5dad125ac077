import { challengePrefix } from '../certificates/challenge-answer.ts';
import { clientAddress, type TrustedProxies } from '../plumbing/client-address.ts';
import type { AppAnswer, Edge, EdgeAnswer, EdgeRequest, WholeRequest } from '../plumbing/edge-request.ts';
import type { HostHandle, HostListener } from '../plumbing/host-handle.ts';
import { type Failure, fail, problemAnswer } from '../plumbing/problem.ts';
import { requestIdOf } from '../plumbing/request-id.ts';
import type { BunServer } from '../plumbing/web-sockets.ts';
import { badHostPage, misdirectedPage, type PlainPage, pageAnswer, unavailablePage } from './plain-page.ts';
import { createPlatformNames } from './platform-names.ts';

/** Of answers that wait for something: beyond, new ones are refused rather than kept waiting. */
export const underWayMax = 2_000;
/** With those whose visitors have been told so: beyond, nothing new is begun. What is at hand is answered until then. */
export const begunMax = 5 * underWayMax;
/** Up to here it is read whole and sent with its length, which this listener can not tell of a stream. */
const wholeBytesMax = 1024 * 1024;
/** Asked for by machines, at whatever name or address they reach us. */
const atAnyHost = ['/healthz', '/readyz', '/metrics'];

/** Sites at the listener that the platform has too: `Request` in, `Response` out, and the platform's own hosts not at all. */
export function createSiteHandle(options: {
  edge: Edge;
  baseUrl: string;
  extraHosts: readonly string[];
  appsDomain: string;
  count(method: string, status: number): void;
  trustedProxies: TrustedProxies;
}): HostHandle {
  const { edge } = options;
  const { host: ownAuthority } = new URL(options.baseUrl);
  // Most requests of the platform are told by one comparison.
  const own: readonly [string, string] = [`http://${ownAuthority}/`, `https://${ownAuthority}/`];
  /** The same for the address that was last used: no site can ever have one. */
  let ownAddress = own[0];
  const isPlatformName = createPlatformNames(options);
  let underWay = 0;

  return {
    answer(request, bun, listener) {
      const { url } = request;
      const sent = request.headers.get('host') ?? '';
      // Several come as one list: which of them somebody in front of us went by can not be known. What Bun would decode,
      // or take for a user or a path, is another name to others.
      if (sent !== ownAuthority && !hostPattern.test(sent)) return refuse(request, listener, badHost);
      if (url.startsWith(ownAddress) || url.startsWith(own[0]) || url.startsWith(own[1])) return null;
      // A Host header that can be none leaves nothing but the path; CONNECT has no address at all.
      if (!url.startsWith('http://') && !url.startsWith('https://')) return null;
      const begin = url.indexOf('://') + 3;
      const end = url.indexOf('/', begin);
      const authority = url.slice(begin, end);
      const host = hostIn(authority);
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
      const asked = readRequest(request, { host, authority, pathAt: end });
      const scheme =
        url.startsWith('https') || isHttpsAtProxy(request, () => listener.peerOf(request, bun))
          ? 'https'
          : 'http';
      const busy = () => pageAnswer(unavailablePage, request.method);
      const answering = underWay < begunMax ? edge.answer({ ...asked, scheme }) : busy();
      const patient = () => bun.timeout(request, listener.streamIdleSecondsMax);
      const respond = (answer: EdgeAnswer) =>
        responseOf(asked.requestId(), answer, { patient, isStopping: listener.isStopping() });
      const pass = (answer: AppAnswer) => answer.pass(wholeOf(request, bun, listener));
      if (!(answering instanceof Promise)) return 'pass' in answering ? pass(answering) : respond(answering);
      const isTooMuch = underWay >= underWayMax;
      underWay++;
      const answered = answering.then(isTooMuch ? dropBody : wholeIfSmall).finally(() => {
        underWay--;
      });
      if (!isTooMuch) return answered.then((answer) => ('pass' in answer ? pass(answer) : respond(answer)));
      answered.catch(() => {});
      return respond(busy());
    },
  };

  function refuse(request: Request, listener: HostListener, { page, failure }: Refusal): Response {
    const requestId = requestIdOf(request);
    const wantsPage = request.headers.get('accept')?.includes('text/html');
    options.count(request.method, page.status);
    const connection = { patient: () => {}, isStopping: listener.isStopping() };
    if (wantsPage) return responseOf(requestId, pageAnswer(page, request.method), connection);
    const { status, headers, body } = problemAnswer(failure, requestId);
    const bytes = new TextEncoder().encode(body);
    const sent = { ...headers, 'content-length': String(bytes.length), 'x-content-type-options': 'nosniff' };
    return responseOf(
      requestId,
      { status, headers: sent, body: request.method === 'HEAD' ? null : bytes },
      connection,
    );
  }

  function wholeOf(request: Request, bun: BunServer, listener: HostListener): WholeRequest {
    const sentFor = request.headers.get('x-forwarded-for');
    return {
      request,
      clientAddress: clientAddress(listener.peerOf(request, bun), sentFor, options.trustedProxies),
      isStopping: listener.isStopping,
      patient: () => bun.timeout(request, 0),
      upgrade: (data, headers) => bun.upgrade(request, { data, headers }),
    };
  }

  /** Where a proxy ends TLS, the visitor's own connection is the one in front of it. */
  function isHttpsAtProxy(request: Request, peer: () => string): boolean {
    if (request.headers.get('x-forwarded-proto')?.trim().toLowerCase() !== 'https') return false;
    return options.trustedProxies.includes(peer());
  }
}

const hostPattern = /^[\w.:[\]-]*$/;

/** To people as a page, to programs as a problem. */
interface Refusal {
  page: PlainPage;
  failure: Failure;
}

const badHost: Refusal = {
  page: badHostPage,
  failure: fail('validation_failed', { detail: 'The Host header is not valid.' }),
};
const misdirected: Refusal = { page: misdirectedPage, failure: fail('misdirected_request') };

async function wholeIfSmall(answer: EdgeAnswer | AppAnswer): Promise<EdgeAnswer | AppAnswer> {
  if ('pass' in answer) return answer;
  const { body, headers } = answer;
  if (!(body instanceof ReadableStream) || Number(headers['content-length'] ?? Infinity) > wholeBytesMax)
    return answer;
  return { ...answer, body: await new Response(body).bytes() };
}

/** Nobody waits for it any more. */
async function dropBody(answer: EdgeAnswer | AppAnswer): Promise<EdgeAnswer | AppAnswer> {
  if ('pass' in answer) return answer;
  if (answer.body instanceof ReadableStream) await answer.body.cancel();
  return { ...answer, body: null };
}

function hostIn(authority: string): string {
  return authority.replace(/:\d*$/, '').replace(/\.$/, '');
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
      requestId ??= requestIdOf(request);
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

function responseOf(
  requestId: string,
  { status, headers, body }: EdgeAnswer,
  connection: { patient: () => void; isStopping: boolean },
): Response {
  const sent: Record<string, string> = { ...headers, 'x-request-id': requestId };
  if (connection.isStopping) sent.connection = 'close';
  const bytes = body instanceof ReadableStream ? patiently(body, connection.patient) : body;
  return new Response(bytes as BodyInit | null, { status, headers: sent });
}

/** The connection lives for as long as the visitor takes what it is sent. */
function patiently(body: ReadableStream<Uint8Array>, patient: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        patient();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
