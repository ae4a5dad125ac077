import { isIPv4 } from 'node:net';
import type { TrustedProxies } from '../plumbing/client-address.ts';
import type { HostHandle } from '../plumbing/host-handle.ts';
import { requestIdOf } from '../plumbing/request-id.ts';
import type { Edge, EdgeAnswer, EdgeRequest } from './edge-request.ts';
import { badHostPage, pageAnswer, unavailablePage } from './plain-page.ts';

/** Of answers that wait for something: beyond, new ones are refused rather than kept waiting. */
const underWayMax = 2_000;

/** Sites at the listener that the platform has too: `Request` in, `Response` out, and the platform's own hosts not at all. */
export function createSiteHandle(options: {
  edge: Edge;
  baseUrl: string;
  trustedProxies: TrustedProxies;
}): HostHandle {
  const { edge } = options;
  const { host: ownAuthority } = new URL(options.baseUrl);
  // Most requests of the platform are told by one comparison.
  const own: readonly [string, string] = [`http://${ownAuthority}/`, `https://${ownAuthority}/`];
  /** The same for the address that was last used: no site can ever have one. */
  let ownAddress = own[0];
  let underWay = 0;

  return {
    answer(request, bun, listener) {
      const { url } = request;
      if (url.startsWith(ownAddress) || url.startsWith(own[0]) || url.startsWith(own[1])) return null;
      // A Host header that can be none leaves nothing but the path.
      if (url.startsWith('/')) return null;
      const begin = url.indexOf('://') + 3;
      const end = url.indexOf('/', begin);
      const authority = url.slice(begin, end);
      const host = hostIn(authority);
      if (!edge.serves(host)) {
        if (isAddress(host)) ownAddress = url.slice(0, end + 1);
        return null;
      }
      const asked = readRequest(request, { host, authority, pathAt: end });
      const scheme =
        url.startsWith('https') || isHttpsAtProxy(request, () => listener.peerOf(request, bun))
          ? 'https'
          : 'http';
      const answering = namesTwoHosts(request)
        ? pageAnswer(badHostPage, request.method)
        : underWay < underWayMax
          ? edge.answer({ ...asked, scheme })
          : pageAnswer(unavailablePage, request.method);
      const patient = () => bun.timeout(request, listener.streamIdleSecondsMax);
      const respond = (answer: EdgeAnswer) =>
        responseOf(asked.requestId(), answer, { patient, isStopping: listener.isStopping() });
      if (!(answering instanceof Promise)) return respond(answering);
      underWay++;
      return answering.then(
        (answer) => {
          underWay--;
          return respond(answer);
        },
        (error: unknown) => {
          underWay--;
          throw error;
        },
      );
    },
  };

  /** Where a proxy ends TLS, the visitor's own connection is the one in front of it. */
  function isHttpsAtProxy(request: Request, peer: () => string): boolean {
    if (request.headers.get('x-forwarded-proto')?.trim().toLowerCase() !== 'https') return false;
    return options.trustedProxies.includes(peer());
  }
}

/** They come as one list: which of the two somebody in front of us went by can not be known. */
const namesTwoHosts = (request: Request) => (request.headers.get('host') ?? '').includes(',');

function hostIn(authority: string): string {
  return authority.replace(/:\d*$/, '').replace(/\.$/, '');
}

function isAddress(host: string): boolean {
  return host === 'localhost' || host.startsWith('[') || isIPv4(host);
}

function readRequest(
  request: Request,
  { host, authority, pathAt }: { host: string; authority: string; pathAt: number },
): Omit<EdgeRequest, 'scheme'> {
  const { url, headers } = request;
  const hash = url.indexOf('#', pathAt);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf('?', pathAt);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  let requestId: string | null = null;
  return {
    method: request.method,
    host,
    authority,
    path: url.slice(pathAt, pathEnd),
    search: url.slice(pathEnd + 1, end),
    header: (name) => headers.get(name),
    requestId() {
      requestId ??= requestIdOf(request);
      return requestId;
    },
  };
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
