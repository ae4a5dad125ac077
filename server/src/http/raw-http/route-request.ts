import { fail } from '../../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from '../client-address.ts';
import type { Edge } from '../edge-request.ts';
import { FastRequest, type RowsListener } from './fast-request.ts';
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
  /** A running app has answered the previous request for this host. */
  isForApp: boolean;
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
    if (!isPlain(head) || context.isForApp) return 'pass';
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
