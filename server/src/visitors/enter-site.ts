import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import { localPath } from '../identity/console-login.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { fail } from '../plumbing/problem.ts';
import type { PlatformPathParts } from './answer-platform-path.ts';
import { isFromElsewhere, isOwnPage } from './came-from.ts';
import { confirmPage } from './confirm-page.ts';
import { secretIn, setCookie, stateCookie, takesCookies, visitCookie } from './cookies.ts';
import { findCodeMaker } from './find-code-maker.ts';
import { needsTls } from './needs-tls.ts';
import { originAt } from './origin-at.ts';
import { redeemCode, visitSecondsMax } from './redeem-code.ts';
import { notePage, pageAnswer, problemOf, sendOn, wrongMethod } from './site-answers.ts';

/**
 * `/.svc/auth?code=…&to=…`: the last step of the way in. A code for any browser could be brought by any page, to sign
 * people in as somebody else without their knowing: who is sent here by another page is asked first.
 */
export async function enterSite(parts: PlatformPathParts, request: EdgeRequest): Promise<EdgeAnswer> {
  if (request.method !== 'GET' && request.method !== 'POST') return wrongMethod(request, 'GET, POST');
  const here = originAt(request, parts);
  if (request.method === 'POST' && !isOwnPage(request, here))
    return problemOf(request, fail('cross_site_request'));
  const query = new URLSearchParams(request.search);
  const code = query.get('code') ?? '';
  // Exactly: also the port that was asked for, and no dot behind the name.
  const origin = authorityOf(here) === request.authority.toLowerCase() ? here : '';
  const ctx = { db: parts.db, now: parts.now(), onCommitted: parts.onCommitted };
  if (request.method === 'GET' && isFromElsewhere(request)) {
    const maker = await findCodeMaker(ctx, { code, origin });
    const action = `${request.path}?${request.search}`;
    if (maker)
      return pageAnswer(request, confirmPage({ host: request.host, maker, action }), { status: 200 });
  }
  const visit = await redeemCode(ctx, {
    code,
    origin,
    host: request.host,
    state: { given: query.get('state'), kept: secretIn(request, stateCookie) },
    before: secretIn(request, visitCookie),
  });
  if (!takesCookies(here)) return needsTls(request);
  const to = pathIn(query.get('to'), here);
  if (visit) return sendOn(to, { 'set-cookie': setCookie(visitCookie, visit.token, visitSecondsMax) });
  const page = notePage({
    mark: 'bad',
    title: 'This way in is closed',
    text: 'It was used before, took too long, or was begun in another browser or without cookies.',
    link: { href: to, label: 'Start again' },
  });
  return pageAnswer(request, page, { status: 400 });
}

/** A page of the site, or its start page; never one of ours here, which would only begin anew. */
function pathIn(text: string | null, origin: string): string {
  const path = localPath(text, origin);
  return path.startsWith(sitePlatformPrefix) ? '/' : path;
}

function authorityOf(origin: string): string {
  return URL.parse(origin)?.host ?? '';
}
