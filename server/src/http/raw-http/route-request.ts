import { fail } from '../../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from '../client-address.ts';
import type { Edge, EdgeResponse } from '../edge-request.ts';
import type { ClientConnection, GeneralHandler } from '../handlers.ts';
import { FastRequest, type RowsListener } from './fast-request.ts';
import { answerFromApp, answerGeneral, canAnswerWhole } from './general-request.ts';
import type { RequestHead } from './parse-head.ts';

export interface Routes {
  edge: () => Edge | null;
  rows: () => RowsListener | null;
  general: GeneralHandler | null;
  /** False where the client is to use another connection (421). */
  accepts: (host: string) => boolean;
  scheme: 'http' | 'https';
  trustedProxies: TrustedProxies;
}

export interface RequestContext {
  peer: string;
  /** Bytes that begin with those that `head` was read from. */
  bytes: Buffer;
  /** The body takes seconds to arrive: it is passed on in pieces. */
  isSlow: boolean;
  extendTimeout: () => void;
  connection: ClientConnection;
}

/** A response that has to be waited for. */
export interface Answering {
  response: Promise<EdgeResponse | Answering>;
  abort: (() => void) | null;
  /** Counted and limited by its handler, and canceled when the client closes its side of the connection. */
  isGeneral: boolean;
}

export const notAllowed = fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });

/** `pass`: to the general server. A number: the bytes that the request has in all, where some are missing. */
export type Routed = 'pass' | number | EdgeResponse | Answering;

export function routeRequest(routes: Routes, head: RequestHead, context: RequestContext): Routed {
  const { host, path } = head.request;
  if (!routes.accepts(host)) throw fail('misdirected_request');
  const edge = routes.edge();
  const end = head.end + Number(head.body);
  const isMissing = end > context.bytes.length;
  if (edge?.serves(host)) {
    if (!canAnswerWhole(head) || context.isSlow || (routes.general === null && !isPlain(head))) return 'pass';
    return isMissing ? end : answerSite(routes, edge, head, context);
  }
  const rows = routes.rows();
  if (rows !== null && path.startsWith(rows.prefix) && rows.answers(head))
    return isMissing ? end : answerRows(routes, rows, head, context);
  if (routes.general === null || !canAnswerWhole(head) || context.isSlow) return 'pass';
  return isMissing ? end : (answerGeneral(routes.general, head, context) ?? 'pass');
}

function answerSite(routes: Routes, edge: Edge, head: RequestHead, context: RequestContext): Routed {
  head.request.scheme = isHttpsAtProxy(routes, head, context.peer) ? 'https' : routes.scheme;
  const answer = edge.answer(head.request);
  if (!(answer instanceof Promise))
    return 'proxy' in answer ? answerFromApp(routes, { edge, app: answer, head, context }) : answer;
  const response = answer.then((answered) =>
    'proxy' in answered ? answerFromApp(routes, { edge, app: answered, head, context }) : answered,
  );
  return { response, abort: null, isGeneral: false };
}

function isPlain({ body, request: { method } }: RequestHead): boolean {
  return body === 0 && (method === 'GET' || method === 'HEAD');
}

function isHttpsAtProxy({ trustedProxies }: Routes, { request }: RequestHead, peer: string): boolean {
  const scheme = request.header('x-forwarded-proto');
  return scheme !== null && scheme.toLowerCase() === 'https' && trustedProxies.includes(peer);
}

function answerRows(
  routes: Routes,
  rows: RowsListener,
  head: RequestHead,
  context: RequestContext,
): Answering {
  const { request, end, body } = head;
  const fast = new FastRequest(request, context.bytes.subarray(end, end + Number(body)));
  const response = rows.answer(fast, request.path, request.search, {
    requestId: request.requestId(),
    extendTimeout: context.extendTimeout,
    clientAddress: () =>
      resolveClientAddress(context.peer, request.header('x-forwarded-for'), routes.trustedProxies),
  });
  return { response, abort: () => fast.abort(), isGeneral: false };
}
