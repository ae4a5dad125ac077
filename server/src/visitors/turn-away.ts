import { randomBytes } from 'node:crypto';
import type { EdgeAnswer, EdgeRequest } from '../edge/edge-request.ts';
import { localPath } from '../identity/console-login.ts';
import { fail } from '../plumbing/problem.ts';
import { secretIn, setCookie, stateCookie, stateSecondsMax, takesCookies } from './cookies.ts';
import { pageAnswer, problemOf, seeOther } from './site-answers.ts';
import { isAppsHost, type SitePlaces, siteOrigin } from './site-target.ts';

export const siteAuthPath = '/site-auth';
/** What the sign-in takes along to come back to. */
const returnCharsMax = 2_000;

/** Sends whoever opens a page to the sign-in and back; whatever else is asked for is refused. */
export function turnAway(request: EdgeRequest, places: SitePlaces): EdgeAnswer {
  if (!opensPage(request)) {
    const headers = { 'www-authenticate': 'Session realm="site"' };
    return problemOf(request, fail('unauthenticated', { detail: 'Sign in to see this site.', headers }));
  }
  const origin = originAt(request, places);
  if (!takesCookies(origin)) return needsTls(request);
  // One for all tabs that are on their way at once: each comes back to the same cookie.
  const state = secretIn(request, stateCookie) ?? randomBytes(32).toString('base64url');
  return seeOther(`${places.baseUrl}${siteAuthTo(origin, request, state)}`, {
    'set-cookie': setCookie(stateCookie, state, stateSecondsMax),
  });
}

/**
 * Where the visitor is. Hosts of the apps domain have the platform's own scheme and port, whatever a proxy in front
 * makes of them on the way here.
 */
export function originAt({ host, scheme, authority }: EdgeRequest, places: SitePlaces): string {
  if (isAppsHost(host, places)) return siteOrigin(host, places);
  return URL.parse(`${scheme}://${authority}`)?.origin ?? '';
}

export function needsTls(request: EdgeRequest): EdgeAnswer {
  const href = `https://${request.host}${localPath(request.path, `https://${request.host}`)}`;
  return pageAnswer(
    request,
    {
      title: 'This site needs HTTPS',
      text: 'Only some people may see it, and by plain HTTP nobody can be told from anybody else.',
      link: { href, label: 'Open it over HTTPS' },
    },
    { status: 403 },
  );
}

/** The address without its query, or the start page, where it would be too long to be taken along. */
function siteAuthTo(origin: string, { path, search }: EdgeRequest, state: string): string {
  const wanted = [`${path}${search === '' ? '' : `?${search}`}`, path, '/'].map((address) => {
    const query = new URLSearchParams({ target: `${origin}${localPath(address, origin)}`, state });
    return `${siteAuthPath}?${query}`;
  });
  return wanted.find((address) => address.length <= returnCharsMax - viaCharsMax) ?? `${siteAuthPath}`;
}

/** For what the platform itself appends. */
const viaCharsMax = 20;

/** A person who opens an address, and not a page that fetches something. */
function opensPage(request: EdgeRequest): boolean {
  const mode = request.header('sec-fetch-mode');
  const dest = request.header('sec-fetch-dest');
  return (
    request.method === 'GET' &&
    (request.header('accept') ?? '').includes('text/html') &&
    (mode === null || mode === 'navigate') &&
    (dest === null || dest === 'document')
  );
}
