import { randomBytes } from 'node:crypto';
import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import { fail } from '../../core/problem.ts';
import { credentialTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import type { EdgeRequest, EdgeResponse } from '../../http/edge-request.ts';
import { localPath } from '../../identity/provider/console-login.ts';
import { confirmPage, findCodeOwner, isCodeValid } from './site-auth.ts';
import {
  canSetCookies,
  dropCookie,
  isCrossSite,
  isSameOrigin,
  notePage,
  problemResponse,
  readSecretCookie,
  redirectWithCookie,
  secretPattern,
  setCookie,
  sitePageResponse,
  stateCookie,
  tlsRequiredPage,
  visitCookie,
  wrongMethod,
} from './site-responses.ts';
import { originAt, type PlatformPathDeps } from './site-target.ts';
import { consumeCodeRow, deleteVisitRow, insertVisitRow } from './store.ts';

/** `/.svc/auth?code=…&to=…`: another page could use a code without state, so the visitor confirms a cross-site request. */
export async function enterSite(deps: PlatformPathDeps, request: EdgeRequest): Promise<EdgeResponse> {
  if (request.method !== 'GET' && request.method !== 'POST') return wrongMethod(request, 'GET, POST');
  const here = originAt(request, deps);
  if (request.method === 'POST' && !isSameOrigin(request, here))
    return problemResponse(request, fail('cross_site_request'));
  const query = new URLSearchParams(request.search);
  const code = query.get('code') ?? '';
  // The authority must match exactly, including the port and without a trailing dot.
  const origin = (URL.parse(here)?.host ?? '') === request.authority.toLowerCase() ? here : '';
  const ctx = { db: deps.db, now: deps.now(), onCommitted: deps.onCommitted };
  if (request.method === 'GET' && isCrossSite(request)) {
    const owner = await findCodeOwner(ctx, { code, origin });
    const action = `${request.path}?${request.search}`;
    if (owner)
      return sitePageResponse(request, confirmPage({ host: request.host, owner, action }), { status: 200 });
  }
  const visit = await redeemCode(ctx, {
    code,
    origin,
    host: request.host,
    state: { query: query.get('state'), cookie: readSecretCookie(request, stateCookie) },
    before: readSecretCookie(request, visitCookie),
  });
  if (!canSetCookies(here)) return tlsRequiredPage(request);
  const to = pathIn(query.get('to'), here);
  if (visit) return redirectWithCookie(to, setCookie(visitCookie, visit.token, visitSecondsMax));
  const page = notePage({
    mark: 'bad',
    title: 'This sign-in link is not valid',
    text: 'It was used before, has expired, or was started in another browser or without cookies.',
    link: { href: to, label: 'Start again' },
  });
  return sitePageResponse(request, page, { status: 400 });
}

/** Platform paths of the site are not return targets: they would start the sign-in again. */
function pathIn(text: string | null, origin: string): string {
  const path = localPath(text, origin);
  return path.startsWith(sitePlatformPrefix) ? '/' : path;
}

const visitSecondsMax = 12 * 3600;

async function redeemCode(
  { db, now, onCommitted }: Pick<PlatformPathDeps, 'db' | 'onCommitted'> & { now: Date },
  input: {
    code: string;
    origin: string;
    host: string;
    state: { query: string | null; cookie: string | null };
    before: string | null;
  },
): Promise<{ token: string } | null> {
  if (!secretPattern.test(input.code)) return null;
  const row = await consumeCodeRow(db, sha256(input.code));
  if (!row || !isCodeValid(row, { origin: input.origin, now })) return null;
  const { query, cookie } = input.state;
  if (row.state_hash !== null && (cookie === null || cookie !== query || sha256(cookie) !== row.state_hash))
    return null;
  const token = randomBytes(32).toString('base64url');
  await insertVisitRow(db, {
    token_hash: sha256(token),
    app_id: row.app_id,
    host: input.host,
    user_id: row.user_id,
    credential_id: row.credential_id,
    created_at: now,
    expires_at: new Date(now.getTime() + visitSecondsMax * 1000),
  });
  if (input.before !== null)
    await endVisit({ db, onCommitted }, { tokenHash: sha256(input.before), host: input.host });
  return { token };
}

/** `/.svc/logout`: ends the visit. The person stays signed in to the platform. */
export async function leaveSite(deps: PlatformPathDeps, request: EdgeRequest): Promise<EdgeResponse> {
  if (request.method !== 'POST') return wrongMethod(request, 'POST');
  if (!isSameOrigin(request, originAt(request, deps)))
    return problemResponse(request, fail('cross_site_request'));
  const token = readSecretCookie(request, visitCookie);
  if (token !== null) await endVisit(deps, { tokenHash: sha256(token), host: request.host });
  const page = notePage({
    mark: 'good',
    title: 'You have left this site',
    text: 'You may still be signed in to svc. If so, you can return without a password.',
    link: { href: '/', label: 'Return to the site' },
  });
  return sitePageResponse(request, page, { status: 200, headers: { 'set-cookie': dropCookie(visitCookie) } });
}

async function endVisit(
  { db, onCommitted }: Pick<PlatformPathDeps, 'db' | 'onCommitted'>,
  visit: { tokenHash: string; host: string },
): Promise<void> {
  const tag = credentialTag(visit.tokenHash);
  if (await deleteVisitRow(db, { ...visit, tag })) onCommitted?.(tag);
}
