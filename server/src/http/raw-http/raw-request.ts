import { fail } from '../../core/problem.ts';
import { resolveClientAddress, type TrustedProxies } from '../client-address.ts';
import { type AppProxy, type Edge, type EdgeRequest, type EdgeResponse, Stop } from '../edge-request.ts';
import type { FastPathInfo, FastPathRequest } from '../handlers.ts';
import { acceptRequestId, HeaderList } from '../headers.ts';
import type { RequestHead } from './parse-head.ts';

/** Decodes headers on demand: of a browser's fifteen headers, three or four are used. */
export class RawRequest implements EdgeRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly search: string;
  readonly authority: string;
  scheme: 'http' | 'https' = 'http';
  cachedRequestId: string | null = null;
  readonly #bytes: Buffer;
  readonly #fields: readonly number[];

  constructor(head: {
    bytes: Buffer;
    fields: readonly number[];
    method: string;
    path: string;
    search: string;
    authority: Authority;
  }) {
    this.#bytes = head.bytes;
    this.#fields = head.fields;
    this.method = head.method;
    this.path = head.path;
    this.search = head.search;
    this.host = head.authority.host;
    this.authority = head.authority.text;
  }

  requestId(): string {
    this.cachedRequestId ??= acceptRequestId(this.header('x-request-id'));
    return this.cachedRequestId;
  }

  headers(): HeaderList {
    const headers = new HeaderList();
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 4) {
      const name = this.#bytes.toString('latin1', fields[index], fields[index + 1]).toLowerCase();
      const value = this.#bytes.toString('latin1', fields[index + 2], fields[index + 3]);
      if (name !== 'cookie') headers.append(name, value);
    }
    // `append` would join several with commas.
    const cookie = this.header('cookie');
    if (cookie !== null) headers.set('cookie', cookie);
    return headers;
  }

  get(name: string): string | null {
    return this.header(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  header(name: string): string | null {
    const fields = this.#fields;
    const bytes = this.#bytes;
    let joined: string | null = null;
    for (let index = 0; index < fields.length; index += 4) {
      const at = fields[index] ?? 0;
      if ((fields[index + 1] ?? 0) - at !== name.length || !equalsNameAt(bytes, at, name)) continue;
      const value = bytes.toString('latin1', fields[index + 2], fields[index + 3]);
      joined = joined === null ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    return joined;
  }
}

export interface Authority {
  text: string;
  host: string;
}

const authorityPattern = /^([\w.-]*|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

export function readAuthority(
  bytes: Buffer,
  at: number,
  end: number,
  known: Authority | null,
): Authority | 'invalid' {
  if (known !== null && end - at === known.text.length && equalsAt(bytes, at, known.text)) return known;
  const text = bytes.toString('latin1', at, end);
  const name = authorityPattern.exec(text)?.[1];
  if (name === undefined) return 'invalid';
  const host = name.toLowerCase();
  return { text, host: host.endsWith('.') ? host.slice(0, -1) : host };
}

export function equalsAt(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** Case-insensitive: setting the bit 0x20 turns no other token byte into a letter or `-`. */
export function equalsNameAt(bytes: Uint8Array, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (((bytes[at + index] ?? 0) | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** The rows of the platform, answered without the general server. */
export interface RowsListener {
  prefix: string;
  answers(head: RequestHead): boolean;
  answer(request: FastPathRequest, path: string, search: string, info: FastPathInfo): Promise<EdgeResponse>;
}

/** Larger bodies are passed on, because the general server receives them in pieces. */
const bodyBytesMax = 64 * 1024;
/** The general server normalizes URLs: others than these are passed on, so that both read the same path. */
const normalTarget = /^[\w!$&()*+,;=:@/%.~-]*$/;
const dotSegment = /\/(?:\.|%2e)/i;

export function isFastRequest({ request, body, isSpecial }: RequestHead): boolean {
  if (isSpecial || body === 'chunked' || body > bodyBytesMax || request.method === 'OPTIONS') return false;
  const { path, search } = request;
  return normalTarget.test(path) && normalTarget.test(search) && !dotSegment.test(path);
}

const noBytes = new Uint8Array(0);
/** The bytes of the connection would live as long as the request. */
const copyBytes = (bytes: Buffer, from: number, length: number) =>
  new Uint8Array(bytes.subarray(from, from + length));

/** The members of `Request` that handlers of rows use, without its cost. */
class FastRequest implements FastPathRequest, FastPathInfo {
  readonly method: string;
  readonly headers: FastPathRequest['headers'];
  readonly extendTimeout: () => void;
  readonly clientAddress: () => string;
  responseHeaders?: Record<string, string> | undefined;
  readonly received: Uint8Array<ArrayBuffer>;
  readonly #raw: RawRequest;
  #abort: AbortController | null = null;
  #isAborted = false;

  constructor(
    raw: RawRequest,
    body: Uint8Array<ArrayBuffer>,
    { peer, extendTimeout }: RequestContext,
    trustedProxies: TrustedProxies,
  ) {
    this.#raw = raw;
    this.method = raw.method;
    this.received = body;
    this.headers = raw;
    this.extendTimeout = extendTimeout;
    this.clientAddress = () => resolveClientAddress(peer, raw.header('x-forwarded-for'), trustedProxies);
  }

  /** Most answers need none. */
  get requestId(): string {
    return this.#raw.requestId();
  }

  get url(): string {
    const { scheme, authority, path, search } = this.#raw;
    return `${scheme}://${authority}${path}${search === '' ? '' : `?${search}`}`;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.received.length === 0 ? null : new Blob([this.received]).stream();
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.received);
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isAborted) this.#abort.abort();
    return this.#abort.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.abort();
  }
}

export interface Routes {
  edge: () => Edge | null;
  rows: () => RowsListener | null;
  accepts: (host: string) => boolean;
  scheme: 'http' | 'https';
  trustedProxies: TrustedProxies;
}

interface RequestContext {
  peer: string;
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
  const signal = new Stop();
  const response = app.proxy({
    request: { headers: request.headers(), body: null, signal },
    clientAddress: resolveClientAddress(peer, request.header('x-forwarded-for'), routes.trustedProxies),
    isStopping: () => routes.isStopping,
    // The proxy has limits of its own.
    disableTimeout: () => {},
    // Such requests are passed on.
    upgrade: () => false,
  });
  return { response: response.then(requireResponse), abort: () => signal.abort() };
}

function requireResponse(answer: EdgeResponse | undefined): EdgeResponse {
  if (answer === undefined) throw fail('internal');
  return answer;
}

function answerRows(routes: Routes, rows: RowsListener, head: RequestHead, context: RequestContext) {
  const { request, end, body } = head;
  const received = body === 0 ? noBytes : copyBytes(context.bytes, end, Number(body));
  const fast = new FastRequest(request, received, context, routes.trustedProxies);
  const response = rows.answer(fast, request.path, request.search, fast);
  return { response, abort: () => fast.abort() };
}
