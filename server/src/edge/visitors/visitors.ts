import { randomBytes } from 'node:crypto';
import { siteAuthPath } from '@svc/contract/identity.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { appTag, credentialTag, userTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import type { EdgeRequest, EdgeResponse, EdgeResult } from '../../http/edge-request.ts';
import { localPath } from '../../identity/provider/console-login.ts';
import { findSignInEnd } from '../../identity/sessions/sessions.ts';
import { enterSite, leaveSite } from './enter-site.ts';
import {
  canSetCookies,
  isCrossSite,
  problemResponse,
  readSecretCookie,
  redirectWithCookie,
  setCookie,
  stateCookie,
  stateSecondsMax,
  tlsRequiredPage,
  visitCookie,
} from './site-responses.ts';
import {
  canVisit,
  originAt,
  type PlatformPathDeps,
  type SiteOriginConfig,
  sitePaths,
} from './site-target.ts';
import { findVisitRow } from './store.ts';

export interface VisitedSite {
  appId: string;
  tenantId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/** A null site is a host without an app. It gets the responses of a forbidden site, so that names cannot be probed. */
export interface Visitors {
  isVisitor(site: VisitedSite, request: EdgeRequest): boolean | Promise<boolean>;
  /** For apps with a server: the user id of the visit; null if there is none or the user may not visit. */
  findVisitor(site: VisitedSite, request: EdgeRequest): Promise<string | null>;
  redirectToSignIn(site: VisitedSite | null, request: EdgeRequest): EdgeResponse;
  platformPath(site: VisitedSite | null, request: EdgeRequest): EdgeResult | null;
}

export interface ActiveVisit {
  userId: string;
  until: Date;
}

interface VisitKey {
  tokenHash: string;
  host: string;
}

export function createVisitors(deps: PlatformPathDeps & { cache: TaggedCache<ActiveVisit> }): Visitors {
  const { cache, now } = deps;
  const keyOf = (site: VisitedSite, { tokenHash, host }: VisitKey) =>
    `${site.hostKind} ${site.appId} ${host} ${tokenHash}`;

  async function findActiveVisit(site: VisitedSite, visitKey: VisitKey): Promise<ActiveVisit | null> {
    const key = keyOf(site, visitKey);
    const cached = cache.peek(key);
    if (cached && cached.until > now()) return cached;
    // The session behind the visit may have been extended since.
    if (cached) cache.delete(key);
    const visit = await cache.get(key, () => loadVisit(deps.db, site, visitKey));
    return visit !== null && visit.until > now() ? visit : null;
  }

  return {
    isVisitor(site, request) {
      if (isCrossSiteEmbed(request)) return false;
      const visitKey = readVisitKey(request);
      if (visitKey === null) return false;
      const cached = cache.peek(keyOf(site, visitKey));
      if (cached && cached.until > now()) return true;
      return findActiveVisit(site, visitKey).then((visit) => visit !== null);
    },
    async findVisitor(site, request) {
      if (isCrossSiteEmbed(request) || isCrossSiteWrite(request)) return null;
      const visitKey = readVisitKey(request);
      return (visitKey && (await findActiveVisit(site, visitKey))?.userId) ?? null;
    },
    redirectToSignIn: (_site, request) => redirectToSignIn(request, deps),
    platformPath(_site, request) {
      if (request.path === sitePaths.auth) return enterSite(deps, request);
      return request.path === sitePaths.logout ? leaveSite(deps, request) : null;
    },
  };
}

function readVisitKey(request: EdgeRequest): VisitKey | null {
  const token = readSecretCookie(request, visitCookie);
  return token === null ? null : { tokenHash: sha256(token), host: request.host };
}

/** Apps share a registrable domain: without this check, pages of other apps could read or overlay embedded content. */
function isCrossSiteEmbed(request: EdgeRequest): boolean {
  if (!isCrossSite(request)) return false;
  return request.header('sec-fetch-mode') !== 'navigate' || request.header('sec-fetch-dest') !== 'document';
}

/** Another app's page can submit a form or open a WebSocket to this host, and the browser sends the cookie. */
function isCrossSiteWrite(request: EdgeRequest): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && request.header('upgrade') === null) return false;
  if (request.header('sec-fetch-site') !== null) return isCrossSite(request);
  const from = request.header('origin');
  return from !== null && URL.parse(from)?.host !== request.authority.toLowerCase();
}

/** The tags name everything that the visit depends on. */
async function loadVisit(
  db: Db,
  { appId, hostKind }: VisitedSite,
  { tokenHash, host }: VisitKey,
): Promise<{ value: ActiveVisit; tags: string[] } | null> {
  const visit = await findVisitRow(db, appId, { tokenHash, host });
  if (!visit) return null;
  const { user_id: userId, credential_id: credentialId } = visit;
  const signInEnds = await findSignInEnd({ db }, { userId, credentialId });
  if (!signInEnds || !(await canVisit({ db }, { appId, userId, hostKind }))) return null;
  return {
    value: { userId, until: signInEnds < visit.expires_at ? signInEnds : visit.expires_at },
    tags: [credentialTag(tokenHash), credentialTag(credentialId), userTag(userId), appTag(appId)],
  };
}

const returnCharsMax = 2_000;

function redirectToSignIn(request: EdgeRequest, config: SiteOriginConfig): EdgeResponse {
  if (!isPageNavigation(request)) {
    const headers = { 'www-authenticate': 'Session realm="site"' };
    const failure = fail('unauthenticated', { detail: 'Sign in to see this site.', headers });
    return problemResponse(request, failure);
  }
  const origin = originAt(request, config);
  if (!canSetCookies(origin)) return tlsRequiredPage(request);
  // Tabs that sign in at the same time share one state cookie.
  const state = readSecretCookie(request, stateCookie) ?? randomBytes(32).toString('base64url');
  const cookie = setCookie(stateCookie, state, stateSecondsMax);
  return redirectWithCookie(`${config.baseUrl}${siteAuthUrl(origin, request, state)}`, cookie);
}

/** A return URL that is too long loses its query, then its path. */
function siteAuthUrl(origin: string, { path, search }: EdgeRequest, state: string): string {
  const candidates = [`${path}${search === '' ? '' : `?${search}`}`, path, '/'].map((address) => {
    const query = new URLSearchParams({ target: `${origin}${localPath(address, origin)}`, state });
    return `${siteAuthPath}?${query}`;
  });
  return (
    candidates.find((address) => address.length <= returnCharsMax - reservedCharsMax) ?? `${siteAuthPath}`
  );
}

/** Reserved for `&via=…`. */
const reservedCharsMax = 20;

function isPageNavigation(request: EdgeRequest): boolean {
  const mode = request.header('sec-fetch-mode');
  const dest = request.header('sec-fetch-dest');
  return (
    request.method === 'GET' &&
    (request.header('accept') ?? '').includes('text/html') &&
    (mode === null || mode === 'navigate') &&
    (dest === null || dest === 'document')
  );
}
