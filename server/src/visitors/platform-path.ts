import type { EdgeAnswer, EdgeRequest } from '../edge/edge-request.ts';
import { localPath } from '../identity/console-login.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { dropCookie, secretIn, setCookie, stateCookie, takesCookies, visitCookie } from './cookies.ts';
import { endVisit } from './end-visit.ts';
import { sitePaths } from './make-code.ts';
import { redeemCode, visitSecondsMax } from './redeem-code.ts';
import { pageAnswer, problemOf, seeOther, wrongMethod } from './site-answers.ts';
import type { SitePlaces } from './site-target.ts';
import { needsTls, originAt } from './turn-away.ts';

export interface PlatformPathParts extends SitePlaces {
  db: Db;
  now: () => Date;
  /** Told what has ended: this copy of the server need not wait to hear of it. */
  onCommitted?: (tag: string) => void;
}

/** `/.svc/auth?code=…&to=…`: the last step of the way in. */
export async function enterSite(parts: PlatformPathParts, request: EdgeRequest): Promise<EdgeAnswer> {
  if (request.method !== 'GET') return wrongMethod(request, 'GET');
  const origin = originAt(request, parts);
  const query = new URLSearchParams(request.search);
  const to = pathIn(query.get('to'), origin);
  const visit = await redeemCode(
    { db: parts.db, now: parts.now() },
    {
      code: query.get('code') ?? '',
      // Exactly: also the port that was asked for, and no dot behind the name.
      origin: authorityOf(origin) === request.authority.toLowerCase() ? origin : '',
      host: request.host,
      state: { given: query.get('state'), kept: secretIn(request, stateCookie) },
      before: secretIn(request, visitCookie),
    },
  );
  if (!takesCookies(origin)) return needsTls(request);
  if (visit) return seeOther(to, { 'set-cookie': setCookie(visitCookie, visit.token, visitSecondsMax) });
  return pageAnswer(
    request,
    {
      title: 'This way in is closed',
      text: 'It was used before, took too long, or was begun in another browser or without cookies.',
      link: { href: to, label: 'Start again' },
    },
    { status: 400 },
  );
}

/** `/.svc/logout`: ends the visit here. The person stays signed in to the platform. */
export async function leaveSite(parts: PlatformPathParts, request: EdgeRequest): Promise<EdgeAnswer> {
  if (request.method !== 'POST') return wrongMethod(request, 'POST');
  if (!isOwnPage(request, originAt(request, parts))) return problemOf(request, fail('cross_site_request'));
  const token = secretIn(request, visitCookie);
  if (token !== null) await endVisit(parts, { tokenHash: sha256(token), host: request.host });
  return pageAnswer(
    request,
    {
      title: 'You have left this site',
      text: 'You may still be signed in to svc itself; then coming back needs no password.',
      link: { href: '/', label: 'Come back' },
    },
    { status: 200, headers: { 'set-cookie': dropCookie(visitCookie) } },
  );
}

export function answerPlatformPath(
  parts: PlatformPathParts,
  request: EdgeRequest,
): Promise<EdgeAnswer> | null {
  if (request.path === sitePaths.auth) return enterSite(parts, request);
  return request.path === sitePaths.logout ? leaveSite(parts, request) : null;
}

/** A page of the site, or its start page; never one of ours here, which would only begin anew. */
function pathIn(text: string | null, origin: string): string {
  const path = localPath(text, origin);
  return path.startsWith('/.svc/') ? '/' : path;
}

function authorityOf(origin: string): string {
  return URL.parse(origin)?.host ?? '';
}

/** A browser sends its cookie along with forms of other sites too, where they are of the same registrable domain. */
function isOwnPage(request: EdgeRequest, origin: string): boolean {
  const site = request.header('sec-fetch-site');
  const from = request.header('origin');
  return (site === null || site === 'same-origin') && (from === null || from === 'null' || from === origin);
}
