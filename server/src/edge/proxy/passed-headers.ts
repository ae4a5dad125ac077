import type { RunningApp } from '../site-snapshot.ts';

/** Of one connection alone, and not of what is asked or answered. */
const hopByHop = new Set([
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
  ...['proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
]);
/** Said by the platform itself, whatever the client claims; `expect` was answered by the listener. */
const ownNames = new Set(['forwarded', 'x-real-ip', 'x-request-id', 'expect', 'host']);
/** What the app would be asked for a second time: the platform has read it. */
const consumed: Readonly<Record<RunningApp['authMode'], string | null>> = {
  bearer: 'authorization',
  api_key: 'x-api-key',
  cookie: null,
  anonymous: null,
};
/** Cookies of the platform; see `visitors/cookies.ts` and `sessionCookieOf`. */
const platformCookie = /^(?:__(?:host|secure)-svc|svc_session)/i;

export interface Passing {
  authMode: RunningApp['authMode'];
  /** As the client sent it. */
  authority: string;
  scheme: 'http' | 'https';
  clientAddress: string;
  requestId: string;
  /** Who asks; null: the app is not told. */
  userToken: string | null;
}

/** What an app is sent with a request. */
export function passedHeaders(sent: Headers, passing: Passing): Headers {
  const dropped = namedInConnection(sent);
  const headers = new Headers();
  for (const [name, value] of sent) {
    // Some servers take `_` for `-`: what is ours must not come in by the other spelling.
    const spelled = name.replaceAll('_', '-');
    if (hopByHop.has(name) || dropped.has(name) || ownNames.has(spelled)) continue;
    if (spelled.startsWith('x-svc-') || spelled.startsWith('x-forwarded-')) continue;
    if (name === consumed[passing.authMode]) continue;
    if (name !== 'cookie') headers.append(name, value);
    else {
      const kept = passedCookies(value);
      if (kept !== '') headers.set('cookie', kept);
    }
  }
  // What is not there would be made up on the way.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity');
  if (!headers.has('user-agent')) headers.set('user-agent', '');
  headers.set('host', passing.authority);
  headers.set('x-forwarded-for', passing.clientAddress);
  headers.set('x-forwarded-proto', passing.scheme);
  headers.set('x-forwarded-host', passing.authority);
  headers.set('x-request-id', passing.requestId);
  if (passing.userToken !== null) headers.set('x-svc-user', passing.userToken);
  return headers;
}

/** What an app answered, as its visitor is sent it. */
export function returnedHeaders(
  answered: Headers,
  { host, requestId }: { host: string; requestId: string },
): Headers {
  const dropped = namedInConnection(answered);
  const headers = new Headers();
  for (const [name, value] of answered) {
    if (hopByHop.has(name) || dropped.has(name) || notReturned.has(name)) continue;
    if (name !== 'set-cookie') headers.append(name, value);
  }
  for (const line of answered.getSetCookie()) {
    const kept = returnedCookie(line, host);
    if (kept !== null) headers.append('set-cookie', kept);
  }
  headers.set('x-request-id', requestId);
  return headers;
}

/** `clear-site-data` would sign people out of other apps of the domain; the others speak of the connection. */
const notReturned = new Set(['clear-site-data', 'alt-svc', 'date', 'x-request-id', 'x-svc-user']);

/** Apps share a domain: none sets a cookie that others are sent, and none sets one of the platform's. Null: not at all. */
export function returnedCookie(line: string, host: string): string | null {
  const [pair = '', ...attributes] = line.split(';');
  // A browser may take what follows an empty name for the name.
  if (platformCookie.test(pair.replace(/^[\s=]+/, ''))) return null;
  const kept = attributes.filter((attribute) => {
    const [name = '', value = ''] = attribute.split('=', 2);
    if (name.trim().toLowerCase() !== 'domain') return true;
    return value.trim().replace(/^\./, '').toLowerCase() === host;
  });
  return [pair, ...kept].join(';');
}

function passedCookies(value: string): string {
  return value
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && !platformCookie.test(pair.replace(/^[\s=]+/, '')))
    .join('; ');
}

function namedInConnection(headers: Headers): ReadonlySet<string> {
  const named = headers.get('connection')?.split(',') ?? [];
  // Who names a header of the body's there would cut the body loose from it.
  return new Set(named.map((name) => name.trim().toLowerCase()).filter((name) => !framing.has(name)));
}
const framing = new Set(['content-length', 'content-type', 'content-encoding', 'cookie', 'authorization']);
