import { html } from '../../core/html.ts';
import { type Failure, fail, renderProblem } from '../../core/problem.ts';
import type { EdgeRequest, EdgeResponse } from '../../http/edge-request.ts';
import { readCookie } from '../../identity/credentials/find-credential.ts';
import { localPath } from '../../identity/provider/console-login.ts';
import { exclamation, type Page, renderPage, tick } from '../../identity/provider/pages/layout.ts';

export function sitePageResponse(
  request: Pick<EdgeRequest, 'method'>,
  page: Page,
  { status, headers = {} }: { status: number; headers?: Record<string, string> },
): EdgeResponse {
  const { body, headers: own } = renderPage(page);
  return textResponse(request, status, { ...own, ...headers }, body);
}

/** Not cached: the next release may redirect elsewhere. */
export function redirectTo(
  location: string,
  status: number,
  more: Record<string, string> = {},
): EdgeResponse {
  const headers = {
    location,
    'content-length': '0',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...more,
  };
  return { status, headers, body: null };
}

export function redirectWithCookie(location: string, cookie: string): EdgeResponse {
  return redirectTo(location, 303, { 'referrer-policy': 'no-referrer', 'set-cookie': cookie });
}

export function problemResponse(
  request: Pick<EdgeRequest, 'method' | 'requestId'>,
  failure: Failure,
): EdgeResponse {
  const { status, headers, body } = renderProblem(failure, request.requestId());
  return textResponse(request, status, { ...headers, 'x-content-type-options': 'nosniff' }, body);
}

export function wrongMethod(request: EdgeRequest, allow: string): EdgeResponse {
  return problemResponse(request, fail('method_not_allowed', { headers: { allow } }));
}

function textResponse(
  request: Pick<EdgeRequest, 'method'>,
  status: number,
  headers: Record<string, string>,
  text: string,
): EdgeResponse {
  const body = new TextEncoder().encode(text);
  return {
    status,
    headers: { ...headers, 'content-length': String(body.length) },
    body: request.method === 'HEAD' ? null : body,
  };
}

export function notePage(note: {
  mark: 'good' | 'bad';
  title: string;
  text: string;
  link: { href: string; label: string };
}): Page {
  const { mark, title, text, link } = note;
  const main = html`<div class="mark ${mark}">${mark === 'good' ? tick : exclamation}</div>
<h1>${title}</h1>
<p class="lead">${text}</p>
<a class="button quiet" href="${link.href}">${link.label}</a>`;
  return { title, main };
}

/** The `__Host-` prefix binds the cookie to one host: apps share a domain. */
export const visitCookie = '__Host-svc_site';
/** Binds the return from the sign-in to the browser that started it. */
export const stateCookie = '__Host-svc_site_state';
export const stateSecondsMax = 600;

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';
export const secretPattern = /^[\w-]{43}$/;

export function readSecretCookie(request: Pick<EdgeRequest, 'header'>, name: string): string | null {
  const value = readCookie(request.header('cookie') ?? '', name);
  return value !== null && secretPattern.test(value) ? value : null;
}

export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${seconds}; ${attributes}`;
}

export function dropCookie(name: string): string {
  return `${name}=; Max-Age=0; ${attributes}`;
}

/** Browsers accept `Secure` cookies over TLS and from localhost. */
export function canSetCookies(origin: string): boolean {
  const url = URL.parse(origin);
  return url?.protocol === 'https:' || /(?:^|\.)localhost$/.test(url?.hostname ?? '');
}

export function tlsRequiredPage(request: EdgeRequest): EdgeResponse {
  const href = `https://${request.host}${localPath(request.path, `https://${request.host}`)}`;
  const page = notePage({
    mark: 'bad',
    title: 'This site needs HTTPS',
    text: 'Only some people may see it, and HTTP cannot carry a sign-in safely.',
    link: { href, label: 'Open over HTTPS' },
  });
  return sitePageResponse(request, page, { status: 403 });
}

/** False if the browser does not send Fetch Metadata. */
export function isCrossSite(request: EdgeRequest): boolean {
  const site = request.header('sec-fetch-site');
  return site === 'same-site' || site === 'cross-site';
}

/** `SameSite` cookies are also sent with forms of other hosts of the same registrable domain. */
export function isSameOrigin(request: EdgeRequest, origin: string): boolean {
  const site = request.header('sec-fetch-site');
  const from = request.header('origin');
  return (site === null || site === 'same-origin') && (from === null || from === 'null' || from === origin);
}
