import { words } from '@svc/contract/words.ts';
import { type HeaderFields, HeaderList } from '../../../http/headers.ts';
import type { RunningApp } from '../site-cache.ts';

const hopByHop = new Set(
  words(`
    connection keep-alive te trailer transfer-encoding upgrade http2-settings
    proxy-authenticate proxy-authorization proxy-connection
  `),
);
/** Set by the platform, whatever the client sends; the listener has handled `expect`. */
const ownNames = new Set(['forwarded', 'x-real-ip', 'x-request-id', 'expect', 'host']);
const consumed: Readonly<Record<RunningApp['authMode'], string | null>> = {
  bearer: 'authorization',
  api_key: 'x-api-key',
  cookie: null,
  anonymous: null,
};
const platformCookie = /^(?:__(?:host|secure)-svc|svc_session)/i;

interface ForwardContext {
  authMode: RunningApp['authMode'];
  authority: string;
  scheme: 'http' | 'https';
  clientAddress: string;
  requestId: string;
  userToken: string | null;
}

export function requestHeaders(sent: HeaderFields, context: ForwardContext): HeaderList {
  const dropped = namedInConnection(sent);
  const headers = new HeaderList();
  for (const [name, value] of sent) {
    // Some servers treat `_` as `-`: the other spelling must not inject a platform header.
    const spelled = name.replaceAll('_', '-');
    if (hopByHop.has(name) || dropped.has(name) || ownNames.has(spelled)) continue;
    if (spelled.startsWith('x-svc-') || spelled.startsWith('x-forwarded-')) continue;
    if (name === consumed[context.authMode]) continue;
    if (name !== 'cookie') headers.append(name, value);
    else {
      const allowed = filterCookies(value);
      if (allowed !== '') headers.set('cookie', allowed);
    }
  }
  // `fetch` would add its own values.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity');
  if (!headers.has('user-agent')) headers.set('user-agent', '');
  headers.set('host', context.authority);
  headers.set('x-forwarded-for', context.clientAddress);
  headers.set('x-forwarded-proto', context.scheme);
  headers.set('x-forwarded-host', context.authority);
  headers.set('x-request-id', context.requestId);
  if (context.userToken !== null) headers.set('x-svc-user', context.userToken);
  return headers;
}

interface ReturnedHeaders {
  headers: Record<string, string>;
  cookies: readonly string[];
}

/** Of heads that apps send again and again: frozen, so that the listener caches their bytes. */
const returned = new WeakMap<HeaderFields, ReturnedHeaders & { host: string }>();

/** Without the request id, which whoever sends the response adds. */
export function returnedHeaders(answered: HeaderFields, host: string): ReturnedHeaders {
  const known = returned.get(answered);
  if (known?.host === host) {
    if (known.cookies.length === 0) Object.freeze(known.headers);
    return known;
  }
  const dropped = namedInConnection(answered);
  const headers: Record<string, string> = {};
  for (const [name, value] of answered)
    if (!hopByHop.has(name) && !dropped.has(name) && !notReturned.has(name)) headers[name] = value;
  const cookies = answered.getSetCookie().flatMap((line) => filterSetCookie(line, host) ?? []);
  returned.set(answered, { host, headers, cookies });
  return { headers, cookies };
}

/** `clear-site-data` would sign people out of other apps of the domain. */
const notReturned = new Set(words('set-cookie clear-site-data alt-svc date x-request-id x-svc-user'));

/** Apps share a domain: no cookie for the whole domain, and none of the platform. Null if refused. */
function filterSetCookie(line: string, host: string): string | null {
  const [pair = '', ...attributes] = line.split(';');
  // Browsers may read a cookie with an empty name as `name=value`.
  if (platformCookie.test(pair.replace(/^[\s=]+/, ''))) return null;
  const allowed = attributes.filter((attribute) => {
    const [name = '', value = ''] = attribute.split('=', 2);
    if (name.trim().toLowerCase() !== 'domain') return true;
    return value.trim().replace(/^\./, '').toLowerCase() === host;
  });
  return [pair, ...allowed].join(';');
}

function filterCookies(value: string): string {
  return value
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && !platformCookie.test(pair.replace(/^[\s=]+/, '')))
    .join('; ');
}

const none: ReadonlySet<string> = new Set();

function namedInConnection(headers: HeaderFields): ReadonlySet<string> {
  const value = headers.get('connection');
  if (value === null || value === 'keep-alive') return none;
  // Removing these headers would separate them from their body.
  const named = value.split(',');
  return new Set(named.map((name) => name.trim().toLowerCase()).filter((name) => !framing.has(name)));
}
const framing = new Set(['content-length', 'content-type', 'content-encoding', 'cookie', 'authorization']);
