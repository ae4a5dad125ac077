import { fail } from '../../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from '../client-address.ts';
import type { AppProxy, Edge, EdgeResponse, ProxyResponse } from '../edge-request.ts';
import { FastRequest, isFastRequest, type RowsListener } from './fast-request.ts';
import type { RequestHead } from './parse-head.ts';

export interface Routes {
  edge: () => Edge | null;
  rows: () => RowsListener | null;
  /** False where the client is to use another connection (421). */
  accepts: (host: string) => boolean;
  scheme: 'http' | 'https';
  trustedProxies: TrustedProxies;
}

interface RequestContext {
  peer: string;
  /** Bytes that begin with those that `head` was read from. */
  bytes: Buffer;
  extendTimeout: () => void;
}

export const notAllowed = fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });

export type Routed = ReturnType<typeof routeRequest>;

/** `pass`: to the general server. A number: the bytes that the request has in all, where some are missing. */
export function routeRequest(routes: Routes, head: RequestHead, context: RequestContext) {
  const { host, path } = head.request;
  if (!routes.accepts(host)) throw fail('misdirected_request');
  const edge = routes.edge();
  if (edge?.serves(host)) {
    if (!isPlain(head)) return 'pass';
    head.request.scheme = isHttpsAtProxy(routes, head, context.peer) ? 'https' : routes.scheme;
    return edge.answer(head.request);
  }
  const rows = routes.rows();
  if (rows === null || !path.startsWith(rows.prefix) || !rows.answers(head)) return 'pass';
  const end = head.end + Number(head.body);
  return end > context.bytes.length ? end : answerRows(routes, rows, head, context);
}

function isPlain({ body, isSpecial, request: { method } }: RequestHead): boolean {
  return body === 0 && !isSpecial && (method === 'GET' || method === 'HEAD');
}

function isHttpsAtProxy({ trustedProxies }: Routes, { request }: RequestHead, peer: string): boolean {
  const scheme = request.header('x-forwarded-proto');
  return scheme !== null && scheme.toLowerCase() === 'https' && trustedProxies.includes(peer);
}

/** Asks a running app. Null: the general server does it, because it would change the target. */
export function askApp(
  routes: Routes & { isStopping: boolean },
  head: RequestHead,
  { app, peer }: { app: AppProxy; peer: string },
): { response: Promise<EdgeResponse>; abort: () => void } | null {
  if (!isFastRequest(head)) return null;
  const { request } = head;
  const abort = new AbortController();
  const response = app.proxy({
    request: { headers: request.headers(), body: null, signal: abort.signal },
    clientAddress: resolveClientAddress(peer, request.header('x-forwarded-for'), routes.trustedProxies),
    isStopping: () => routes.isStopping,
    // The proxy has limits of its own.
    disableTimeout: () => {},
    // Such requests are passed on.
    upgrade: () => false,
  });
  return { response: response.then(fromApp), abort: () => abort.abort() };
}

/** Set by the listener. */
const ownHeaders = new Set(['connection', 'x-request-id', 'set-cookie']);

function fromApp(answer: ProxyResponse | undefined): EdgeResponse {
  if (answer === undefined) throw fail('internal');
  const headers: Record<string, string> = {};
  for (const [name, value] of answer.headers) if (!ownHeaders.has(name)) headers[name] = value;
  const { status, body } = answer;
  return { status, headers, cookies: answer.headers.getSetCookie(), body };
}

function answerRows(routes: Routes, rows: RowsListener, head: RequestHead, context: RequestContext) {
  const { request, end, body } = head;
  const fast = new FastRequest(request, context.bytes.subarray(end, end + Number(body)));
  const response = rows.answer(fast, request.path, request.search, {
    requestId: request.requestId(),
    extendTimeout: context.extendTimeout,
    clientAddress: () =>
      resolveClientAddress(context.peer, request.header('x-forwarded-for'), routes.trustedProxies),
  });
  return { response, abort: () => fast.abort() };
}
