import { createHash, randomBytes } from 'node:crypto';
import { fail } from '../../core/problem.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { seeOther } from '../../http/headers.ts';
import { hostCookieName, readCookie, sessionCookieName } from '../credentials/find-credential.ts';
import { consoleClientId } from '../sessions/clients.ts';
import type { DeleteDeps } from '../sessions/models-store.ts';
import { endSession } from '../sessions/sessions.ts';
import { pageResponse } from './pages/layout.ts';
import { messagePage } from './pages/pages.ts';

const signInSecondsMax = 3600;
/** Sign-ins in several tabs. */
const pendingMax = 5;
const cookieCharsMax = 3000;

type Handle = (request: Request, url: URL, info: Pick<RequestInfo, 'requestId'>) => Promise<Response>;

export function createConsoleLogin({ baseUrl, ...deps }: DeleteDeps & { baseUrl: string }): Handle {
  const attributes = `Path=/; HttpOnly; SameSite=Lax${baseUrl.startsWith('https:') ? '; Secure' : ''}`;
  const cookieName = hostCookieName(baseUrl, 'svc_login');
  const sessionCookie = sessionCookieName(baseUrl);

  return async (request, url, info) => {
    if (url.pathname === '/logout') return logOut(request);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    }
    return url.pathname === '/login' ? begin(request, url) : finish(request, url, info.requestId);
  };

  function begin(request: Request, url: URL): Response {
    // `localhost` and `127.0.0.1` have separate cookies: the whole sign-in must use one of them.
    if (isOtherLoopbackName(url.hostname, new URL(baseUrl).hostname)) {
      return seeOther(`${baseUrl}${url.pathname}${url.search}`);
    }
    const state = randomBytes(16).toString('base64url');
    const returnTo = localPath(url.searchParams.get('return_to'), baseUrl);
    const query = new URLSearchParams({
      client_id: consoleClientId,
      response_type: 'code',
      redirect_uri: `${baseUrl}/login/done`,
      scope: 'openid',
      state,
      // Only the session is needed. Nobody knows the verifier, so the code cannot be redeemed.
      code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const entry = `${state}.${Buffer.from(returnTo).toString('base64url')}`;
    return seeOther(`${baseUrl}/oauth/auth?${query}`, {
      'set-cookie': setPending([entry, ...listPending(request)]),
    });
  }

  function listPending(request: Request): string[] {
    return (readCookie(request.headers.get('cookie') ?? '', cookieName, cookieCharsMax) ?? '')
      .split('~')
      .filter((entry) => /^[\w-]+\.[\w-]*$/.test(entry));
  }

  function setPending(entries: readonly string[]): string {
    const fitting = entries.slice(0, pendingMax);
    while (fitting.join('~').length > cookieCharsMax && fitting.length > 1) fitting.pop();
    const age = fitting.length === 0 ? 0 : signInSecondsMax;
    return `${cookieName}=${fitting.join('~')}; Max-Age=${age}; ${attributes}`;
  }

  async function finish(request: Request, url: URL, requestId: string): Promise<Response> {
    const state = url.searchParams.get('state') ?? '';
    const pending = listPending(request);
    const own = state === '' ? undefined : pending.find((entry) => entry.startsWith(`${state}.`));
    const headers = new Headers({ 'set-cookie': setPending(pending.filter((entry) => entry !== own)) });
    const encoded = own?.slice(state.length + 1) ?? '';
    const returnTo = own ? localPath(Buffer.from(encoded, 'base64url').toString(), baseUrl) : '/';
    if (own && !url.searchParams.has('error')) {
      headers.set('location', `${baseUrl}${returnTo}`);
      headers.set('cache-control', 'no-store');
      return new Response(null, { status: 303, headers });
    }
    // A foreign state: somebody else began this sign-in, so the session may be theirs.
    if (!own) {
      const session = readCookie(request.headers.get('cookie') ?? '', sessionCookie);
      if (session !== null) await endSession(deps, { secret: session });
      headers.append('set-cookie', `${sessionCookie}=; Max-Age=0; ${attributes}`);
    }
    const link = { href: `/login?return_to=${encodeURIComponent(returnTo)}`, label: 'Sign in' };
    const text = own
      ? 'The sign-in was cancelled or failed.'
      : 'The sign-in was not started in this browser, or took too long. Sign in again.';
    const page = pageResponse(messagePage({ title: 'You are not signed in', text, requestId, link }), {
      status: 403,
    });
    for (const [name, value] of headers) page.headers.append(name, value);
    return page;
  }

  function logOut(request: Request): Response {
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    return new Response(null, {
      status: 307,
      headers: { location: `${baseUrl}/oauth/logout`, 'cache-control': 'no-store' },
    });
  }
}

/** Prevents open redirects: a path on this server, or `/`. */
export function localPath(text: string | null, baseUrl: string): string {
  if (!text || text.length > 2000 || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(text)) return '/';
  const url = URL.parse(text, baseUrl);
  // Without its dot segments a path can start with `//` again.
  if (url?.origin !== baseUrl || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}

function isOtherLoopbackName(requested: string, ours: string): boolean {
  const names = ['localhost', '127.0.0.1', '[::1]'];
  return requested !== ours && names.includes(requested) && names.includes(ours);
}
