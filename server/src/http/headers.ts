export function readRequestId(request: Request): string {
  return acceptRequestId(request.headers.get('x-request-id'));
}

export function acceptRequestId(sent: string | null): string {
  return sent !== null && isRequestId(sent) ? sent : Bun.randomUUIDv7();
}

export function isRequestId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(text);
}

export type HeaderFields = Pick<Headers, 'get' | 'getSetCookie'> & Iterable<[string, string]>;

/** Headers of proxied requests: filling and listing five `Headers` took a third of their time. */
export class HeaderList implements HeaderFields {
  readonly #fields: [string, string][] = [];

  constructor(fields: Iterable<readonly [string, string]> = []) {
    for (const [name, value] of fields) this.append(name, value);
  }

  get(name: string): string | null {
    return this.#find(name)?.[1] ?? null;
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  set(name: string, value: string): void {
    const found = this.#find(name);
    if (found) found[1] = value;
    else this.#fields.push([name, value]);
  }

  /** Several fields of a name are one list, except `set-cookie` (RFC 9110, 5.3). */
  append(name: string, value: string): void {
    const found = name === 'set-cookie' ? undefined : this.#find(name);
    if (found) found[1] = `${found[1]}, ${value}`;
    else this.#fields.push([name, value]);
  }

  delete(name: string): void {
    for (let at = this.#fields.length - 1; at >= 0; at--)
      if (this.#fields[at]?.[0] === name) this.#fields.splice(at, 1);
  }

  getSetCookie(): string[] {
    return this.#fields.flatMap(([name, value]) => (name === 'set-cookie' ? [value] : []));
  }

  [Symbol.iterator](): ArrayIterator<[string, string]> {
    return this.#fields[Symbol.iterator]();
  }

  #find(name: string): [string, string] | undefined {
    for (const field of this.#fields) if (field[0] === name) return field;
    return undefined;
  }
}

export const strictTransportHeader = 'strict-transport-security';

/** Null for a platform at an http URL. An app's own header wins; subdomains are not included, because each sends its own. */
export function strictTransportFor(baseUrl: string): string | null {
  return baseUrl.startsWith('https:') ? 'max-age=31536000' : null;
}

/** No response allows credentials, so the session cookie is of no use to pages of other origins. */
export const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'ETag, Link, Location, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Preference-Applied, Svc-Note',
};

/** All responses of rows have them. */
export const rowHeaders = Object.freeze({ ...corsHeaders, 'x-content-type-options': 'nosniff' });

/** The OpenID provider decides per client which origin may read a response, and marks it with `Vary: Origin`. */
export function setCorsHeaders(path: string, headers: Headers): void {
  const isOauth = path === '/oauth' || path.startsWith('/oauth/');
  if (!isCrossOriginPath(path) && !(isOauth && !/\borigin\b/i.test(headers.get('vary') ?? ''))) return;
  for (const [name, value] of Object.entries(corsHeaders)) headers.set(name, value);
}

export function preflightResponse(request: Request, path: string): Response | null {
  const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
  if (!isPreflight || !isCrossOriginPath(path)) return null;
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'Authorization, X-Api-Key, Content-Type, Accept, If-Match, If-None-Match, If-Plan, Idempotency-Key, Last-Event-ID, Prefer, Range, If-Range, X-Svc-Sha256, X-Request-Id',
      'access-control-max-age': '7200',
    },
  });
}

function isCrossOriginPath(path: string): boolean {
  return ['/data/', '/api/v1/', '/icons/', '/objects/'].some((prefix) => path.startsWith(prefix));
}

export function versionEtag(record: { version: number }): string {
  return `"${record.version}"`;
}

export function matchesIfNoneMatch(ifNoneMatch: string | null, etag: string): boolean {
  const sent = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return sent.includes('*') || sent.includes(etag);
}

/** True where the header is absent. Weak tags never match (RFC 9110 §13.1.1). */
export function matchesIfMatch(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return true;
  return ifMatch.split(',').some((tag) => tag.trim() === etag);
}

export interface ByteRange {
  start: number;
  end: number;
}

/** A single byte range. Multiple ranges, other units and malformed values are ignored (RFC 9110 §14.2). */
export function parseRange(range: string, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes[\t ]*=[\t ]*(\d{0,15})-(\d{0,15})[\t ]*$/i.exec(range) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** The location may contain a code, so it is neither cached nor sent as a referrer. */
export function seeOther(location: string, more: Record<string, string> = {}): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...more };
  return new Response(null, { status: 303, headers });
}
