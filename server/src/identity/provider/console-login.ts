import { createHash, randomBytes } from 'node:crypto';
import { fail } from '../../core/problem.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { seeOther } from '../../http/headers.ts';
import { consoleClientId } from '../sessions/clients.ts';
import { pageResponse } from './pages/layout.ts';
import { messagePage } from './pages/pages.ts';

const cookieName = 'svc_login';
const signInSecondsMax = 3600;

type Handle = (request: Request, url: URL, info: Pick<RequestInfo, 'requestId'>) => Promise<Response>;

export function createConsoleLogin(options: { baseUrl: string }): Handle {
  const { baseUrl } = options;
  const attributes = `Path=/login; HttpOnly; SameSite=Lax${baseUrl.startsWith('https:') ? '; Secure' : ''}`;

  return async (request, url, info) => {
    if (url.pathname === '/logout') return logOut(request);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    }
    return url.pathname === '/login' ? begin(url) : finish(request, url, info.requestId);
  };

  function begin(url: URL): Response {
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
    const value = `${state}.${Buffer.from(returnTo).toString('base64url')}`;
    return seeOther(`${baseUrl}/oauth/auth?${query}`, {
      'set-cookie': `${cookieName}=${value}; Max-Age=${signInSecondsMax}; ${attributes}`,
    });
  }

  function finish(request: Request, url: URL, requestId: string): Response {
    const cookie = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)\\.([\\w-]*)`).exec(
      request.headers.get('cookie') ?? '',
    );
    const [, state, encoded = ''] = cookie ?? [];
    const isOwnState = state !== undefined && state === url.searchParams.get('state');
    const returnTo = isOwnState ? localPath(Buffer.from(encoded, 'base64url').toString(), baseUrl) : '/';
    const forget = `${cookieName}=; Max-Age=0; ${attributes}`;
    if (!url.searchParams.has('error')) return seeOther(`${baseUrl}${returnTo}`, { 'set-cookie': forget });
    const link = { href: `/login?return_to=${encodeURIComponent(returnTo)}`, label: 'Sign in' };
    const text = 'The sign-in was cancelled or failed.';
    const page = messagePage({ title: 'You are not signed in', text, requestId, link });
    return pageResponse(page, { status: 403, headers: { 'set-cookie': forget } });
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
