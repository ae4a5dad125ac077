import type { VisitedSite, Visitors } from '../edge/visitors.ts';
import { credentialTag, userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import type { EdgeRequest } from '../plumbing/edge-request.ts';
import { findSignInEnd } from '../sessions/find-sign-in-end.ts';
import { appTag } from '../tables/catalogue.ts';
import { answerPlatformPath, type PlatformPathParts } from './answer-platform-path.ts';
import { isFromElsewhere } from './came-from.ts';
import { secretIn, visitCookie } from './cookies.ts';
import { mayVisit } from './may-visit.ts';
import { findVisitRow } from './store.ts';
import { turnAway } from './turn-away.ts';

/** A visit that counts, and until when it does without being asked about anew. */
export interface StandingVisit {
  userId: string;
  until: Date;
}

interface Shown {
  tokenHash: string;
  host: string;
}

export interface VisitorParts extends PlatformPathParts {
  cache: TaggedCache<StandingVisit>;
}

/** Who looks at sites: the cookie of a visit, the way to one, and its end. */
export function createVisitors(parts: VisitorParts): Visitors {
  const { cache, now } = parts;
  const keyOf = (site: VisitedSite, { tokenHash, host }: Shown) =>
    `${site.hostKind} ${site.appId} ${host} ${tokenHash}`;

  async function standing(site: VisitedSite, shown: Shown): Promise<StandingVisit | null> {
    const key = keyOf(site, shown);
    const kept = cache.peek(key);
    if (kept && kept.until > now()) return kept;
    // The sign-in behind it may have been prolonged since.
    if (kept) cache.forget(key);
    const visit = await cache.get(key, () => loadVisit(parts.db, site, shown));
    return visit !== null && visit.until > now() ? visit : null;
  }

  return {
    visitorAt(site, request) {
      if (isTakenElsewhere(request)) return false;
      const token = secretIn(request, visitCookie);
      if (token === null) return false;
      const tokenHash = sha256(token);
      const key = keyOf(site, { tokenHash, host: request.host });
      const kept = cache.peek(key);
      if (kept && kept.until > now()) return true;
      return standing(site, { tokenHash, host: request.host }).then((visit) => visit !== null);
    },
    async userAt(site, request) {
      if (isTakenElsewhere(request) || isSentElsewhere(request)) return null;
      const token = secretIn(request, visitCookie);
      if (token === null) return null;
      const tokenHash = sha256(token);
      const visit = await standing(site, { tokenHash, host: request.host });
      return visit?.userId ?? null;
    },
    turnAway: (_site, request) => turnAway(request, parts),
    platformPath: (_site, request: EdgeRequest) => answerPlatformPath(parts, request),
  };
}

/**
 * Apps share a domain, so cookies of one host go along when a page of another loads something from it. What only some
 * may see is no part of other apps' pages, neither as a script, which would be read by who runs it, nor in a frame.
 */
function isTakenElsewhere(request: EdgeRequest): boolean {
  if (!isFromElsewhere(request)) return false;
  return request.header('sec-fetch-mode') !== 'navigate' || request.header('sec-fetch-dest') !== 'document';
}

/**
 * Of what changes something or stays open: a form of another app may be sent here, and its page may open a WebSocket
 * here, each with the cookie.
 */
function isSentElsewhere(request: EdgeRequest): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && request.header('upgrade') === null) return false;
  if (request.header('sec-fetch-site') !== null) return isFromElsewhere(request);
  const from = request.header('origin');
  return from !== null && URL.parse(from)?.host !== request.authority.toLowerCase();
}

/** Everything that it rests on is asked about, and named: with the end of any of it, it ends. */
async function loadVisit(
  db: Db,
  { appId, hostKind }: VisitedSite,
  { tokenHash, host }: Shown,
): Promise<{ value: StandingVisit; tags: string[] } | null> {
  const visit = await findVisitRow(db, appId, { tokenHash, host });
  if (!visit) return null;
  const { user_id: userId, credential_id: credentialId } = visit;
  const signInEnds = await findSignInEnd({ db }, { userId, credentialId });
  if (!signInEnds || !(await mayVisit({ db }, { appId, userId, hostKind }))) return null;
  return {
    value: { userId, until: signInEnds < visit.expires_at ? signInEnds : visit.expires_at },
    tags: [credentialTag(tokenHash), credentialTag(credentialId), userTag(userId), appTag(appId)],
  };
}
