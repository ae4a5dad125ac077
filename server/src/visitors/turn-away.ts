import { randomBytes } from 'node:crypto';
import { siteAuthPath } from '@svc/contract/identity.ts';
import { localPath } from '../identity/console-login.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { fail } from '../plumbing/problem.ts';
import { secretIn, setCookie, stateCookie, stateSecondsMax, takesCookies } from './cookies.ts';
import { needsTls } from './needs-tls.ts';
import { originAt } from './origin-at.ts';
import { problemOf, sendOn } from './site-answers.ts';
import type { VisitPlaces } from './site-target.ts';

/** What the sign-in takes along to come back to. */
const returnCharsMax = 2_000;

/** Sends whoever opens a page to the sign-in and back; whatever else is asked for is refused. */
export function turnAway(request: EdgeRequest, places: VisitPlaces): EdgeAnswer {
  if (!opensPage(request)) {
    const headers = { 'www-authenticate': 'Session realm="site"' };
    return problemOf(request, fail('unauthenticated', { detail: 'Sign in to see this site.', headers }));
  }
  const origin = originAt(request, places);
  if (!takesCookies(origin)) return needsTls(request);
  // One for all tabs that are on their way at once: each comes back to the same cookie.
  const state = secretIn(request, stateCookie) ?? randomBytes(32).toString('base64url');
  return sendOn(`${places.baseUrl}${siteAuthTo(origin, request, state)}`, {
    'set-cookie': setCookie(stateCookie, state, stateSecondsMax),
  });
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
