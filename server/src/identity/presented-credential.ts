import { fail } from '../plumbing/problem.ts';

export interface PresentedCredential {
  kind: 'login' | 'session' | 'pat';
  secret: string;
}

/**
 * The prefix keeps other hosts of the domain from setting a cookie of the name, by which they could sign people out
 * or in as someone else. Browsers take it over TLS only.
 */
export function sessionCookieOf(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session';
}

/**
 * What a request brings to show who asks; null when it brings nothing, or something that can not be a credential.
 * A header that is there settles the matter: a bad one is never made up for by a cookie.
 */
export function presentedCredential(request: Request, origin: string): PresentedCredential | null {
  const authorization = request.headers.get('authorization');
  const apiKey = request.headers.get('x-api-key');
  if (authorization !== null && apiKey !== null) throw fail('ambiguous_credentials');
  if (authorization !== null) {
    const token = bearerPattern.exec(authorization)?.[1];
    return token === undefined ? null : { kind: 'login', secret: token };
  }
  if (apiKey !== null) return { kind: 'pat', secret: apiKey };

  const session = cookieOf(request.headers.get('cookie') ?? '', sessionCookieOf(origin));
  if (session === null) return null;
  if (!safeMethods.has(request.method) && !isSameOrigin(request, origin)) throw fail('cross_site_request');
  return { kind: 'session', secret: session };
}

const bearerPattern = /^bearer +([\w.~+/-]{1,512}=*)$/i;
const cookiePattern = /^[\w.~-]{1,256}$/;
const safeMethods = new Set(['GET', 'HEAD']);

/** A browser sends its cookie along with what other sites make it ask; only these two tell whose request it is. */
function isSameOrigin(request: Request, origin: string): boolean {
  return request.headers.get('sec-fetch-site') === 'same-origin' || request.headers.get('origin') === origin;
}

/** Two cookies of the name mean that another host has set one to be taken for ours: neither counts. */
export function cookieOf(header: string, name: string): string | null {
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  return values.length === 1 && value !== undefined && cookiePattern.test(value) ? value : null;
}
