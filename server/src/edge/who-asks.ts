import type { Credential } from '../identity/find-credential.ts';
import { userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import type { Caller } from '../plumbing/context.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { type Failure, fail, problemAnswer } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import type { RunningApp, SiteSnapshot } from './site-snapshot.ts';
import type { Person } from './user-tokens.ts';
import type { Visitors } from './visitors.ts';

/**
 * Null for a person: somebody whom the app may be shown to, and is not told of. By `userId` it is known all the same whose
 * right it was; null: nobody's was needed.
 */
export type WhoAsks = { person: Person | null; userId: string | null } | { refused: EdgeAnswer };

export interface WhoAsksParts {
  visitors: Pick<Visitors, 'userAt' | 'turnAway'>;
  /** By a bearer token or a personal access token, of a request that brings one of them and nothing else. */
  findCredential: (request: Request) => Promise<Credential | null>;
  /** What somebody is to an app; null: it is not for them. */
  findPerson: (place: { appId: string; userId: string }) => Promise<Person | null>;
  cache: TaggedCache<Person>;
}

/** Who asks an app, by its own way of knowing people, and whether its visibility reaches them. */
export function createWhoAsks(parts: WhoAsksParts) {
  return async (site: SiteSnapshot, app: RunningApp, request: EdgeRequest): Promise<WhoAsks> => {
    if (app.authMode === 'bearer' || app.authMode === 'api_key')
      return byHeader(parts, site, app.authMode, request);
    const isTold = app.authMode === 'cookie';
    // Of an app that is open to all and never told of anybody, nobody need be looked up.
    if (site.isOpen && !isTold) return { person: null, userId: null };
    const userId = await parts.visitors.userAt(site, request);
    const person = userId === null ? null : await personAt(parts, site, userId);
    if (person === null && !site.isOpen) return { refused: parts.visitors.turnAway(site, request) };
    return { person: isTold ? person : null, userId: person?.userId ?? null };
  };
}

/** By the whole of what it rests on: with a change of the person or of the app it is looked up anew. */
function personAt({ cache, findPerson }: WhoAsksParts, { appId }: SiteSnapshot, userId: string) {
  return cache.get(`${appId} ${userId}`, async () => {
    const person = await findPerson({ appId, userId });
    return person && { value: person, tags: [appTag(appId), userTag(userId)] };
  });
}

async function byHeader(
  parts: WhoAsksParts,
  site: SiteSnapshot,
  mode: 'bearer' | 'api_key',
  request: EdgeRequest,
): Promise<WhoAsks> {
  const { name, challenge } = headerOf[mode];
  const sent = request.header(name);
  const refused = (failure: Failure) => ({ refused: problemOf(request, failure) });
  const unknown = (detail: string) =>
    refused(fail('unauthenticated', { detail, headers: { 'www-authenticate': challenge } }));
  if (sent === null)
    return site.isOpen
      ? { person: null, userId: null }
      : unknown(`The app wants to know who asks: send \`${name}\`.`);
  const credential = await parts.findCredential(new Request('http://app/', { headers: { [name]: sent } }));
  if (!credential || !isFor(credential.caller, site)) return unknown('It is unknown, ended or not for here.');
  const { scope, userId } = credential.caller;
  if (scope && !holds(scope, site, request))
    return refused(fail('forbidden', { detail: 'The token is not for this app, or not for this.' }));
  const person = await personAt(parts, site, userId);
  return person === null ? refused(fail('not_found')) : { person, userId };
}

/** Without their prefix: as `presentedCredential` reads them. */
const headerOf = {
  bearer: { name: 'authorization', challenge: 'Bearer realm="app"' },
  api_key: { name: 'x-api-key', challenge: 'ApiKey realm="app"' },
} as const;

/** What another app was given is for that app alone. */
function isFor(caller: Caller, { appId }: SiteSnapshot): boolean {
  return caller.throughApp === undefined || caller.throughApp === appId;
}

/** A WebSocket carries what is said both ways, whatever it begins with. */
function holds(
  { tenantId, apps, actions }: NonNullable<Caller['scope']>,
  site: SiteSnapshot,
  request: EdgeRequest,
): boolean {
  const reads = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) && request.header('upgrade') === null;
  const isIts = tenantId === site.tenantId && (apps.length === 0 || apps.includes(site.appId));
  return isIts && actions.includes(reads ? 'read' : 'write');
}

export function problemOf(request: EdgeRequest, failure: Failure): EdgeAnswer {
  const { status, headers, body } = problemAnswer(failure, request.requestId());
  const bytes = new TextEncoder().encode(body);
  const sent = { ...headers, 'content-length': String(bytes.length), 'x-content-type-options': 'nosniff' };
  return { status, headers: sent, body: request.method === 'HEAD' ? null : bytes };
}
