import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { findAppForSignIn } from '../../apps/record/find-app.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { AppAccess, Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareSigningKey, type LiveKey } from '../../core/keys.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import type { EdgeRequest, EdgeResponse } from '../../http/edge-request.ts';
import type { FindCredential } from '../../identity/credentials/find-credential.ts';
import { findUser } from '../../people/users/users.ts';
import { problemResponse } from '../visitors/site-responses.ts';
import { canVisit, type Visit } from '../visitors/site-target.ts';
import type { Visitors } from '../visitors/visitors.ts';
import type { RunningApp, SiteSnapshot } from './site-cache.ts';

export interface Person {
  userId: string;
  email: string;
  name: string;
  relation: AppAccess['relation'];
}

export interface UserTokens {
  tokenFor(app: { appId: string; tenantSlug: string }, person: Person): string;
  publicKeys(): { keys: JWK[] };
}

const secondsMax = 60;
/** A cached token is reused while it is valid for at least this long. */
const leftSecondsMin = 30;
const cachedMax = 10_000;

export const userTokenKey = declareSigningKey({
  name: 'edge.user_key',
  protects: 'Tokens that tell an app who its visitor is',
  create: newKey,
  acceptedSeconds: 3600,
});

/** Short-lived signed tokens for one app each. Cached, because signing costs more than proxying a request. */
export function createUserTokens(deps: { key: LiveKey<JWK>; baseUrl: string; now: () => Date }): UserTokens {
  const { baseUrl, now } = deps;
  const cached = new Map<string, { token: string; exp: number }>();
  let signer: { jwk: JWK; key: KeyObject; head: string } | null = null;

  function currentSigner() {
    const jwk = deps.key.current();
    if (signer?.jwk !== jwk)
      signer = {
        jwk,
        key: createPrivateKey({ key: jwk as never, format: 'jwk' }),
        head: encodeJson({ alg: 'ES256', typ: 'JWT', kid: jwk.kid }),
      };
    return signer;
  }

  function signToken(claims: Record<string, unknown>): string {
    const { head, key } = currentSigner();
    const text = `${head}.${encodeJson(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  return {
    publicKeys: () => ({ keys: deps.key.accepted().map(({ d: _secret, ...publicKey }) => publicKey) }),
    tokenFor({ appId, tenantSlug }, { userId, email, name, relation }) {
      const iat = Math.floor(now().getTime() / 1000);
      const claims = { sub: userId, email, name, tenant: tenantSlug, relation };
      const cacheKey = JSON.stringify([appId, claims]);
      const known = cached.get(cacheKey);
      if (known && known.exp - iat >= leftSecondsMin) return known.token;
      const exp = iat + secondsMax;
      const token = signToken({ iss: baseUrl, aud: appId, iat, exp, ...claims });
      if (cached.size >= cachedMax) cached.clear();
      cached.set(cacheKey, { token, exp });
      return token;
    },
  };
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'ES256', kid: randomBytes(8).toString('hex') };
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

type VisitorAuth = { person: Person | null; userId: string | null } | { refused: EdgeResponse };

export interface VisitorAuthDeps {
  visitors: Pick<Visitors, 'findVisitor' | 'redirectToSignIn'>;
  /** Receives a request with one credential header only. */
  findCredential: FindCredential;
  findPerson: (visit: Visit) => Promise<Person | null>;
  cache: TaggedCache<Person>;
}

export function createVisitorAuth(deps: VisitorAuthDeps) {
  return async (site: SiteSnapshot, app: RunningApp, request: EdgeRequest): Promise<VisitorAuth> => {
    if (app.authMode === 'bearer' || app.authMode === 'api_key')
      return authenticateByHeader(deps, site, app.authMode, request);
    const isIdentityPassed = app.authMode === 'cookie';
    // A public app that does not receive its visitors' identity needs no lookup.
    if (site.isOpen && !isIdentityPassed) return { person: null, userId: null };
    const userId = await deps.visitors.findVisitor(site, request);
    const person = userId === null ? null : await cachedPerson(deps, site, userId);
    if (person === null && !site.isOpen) return { refused: deps.visitors.redirectToSignIn(site, request) };
    return { person: isIdentityPassed ? person : null, userId: person?.userId ?? null };
  };
}

function cachedPerson(
  { cache, findPerson }: VisitorAuthDeps,
  { appId, hostKind }: SiteSnapshot,
  userId: string,
) {
  return cache.get(`${hostKind} ${appId} ${userId}`, async () => {
    const person = await findPerson({ appId, userId, hostKind });
    return person && { value: person, tags: [appTag(appId), userTag(userId)] };
  });
}

async function authenticateByHeader(
  deps: VisitorAuthDeps,
  site: SiteSnapshot,
  mode: 'bearer' | 'api_key',
  request: EdgeRequest,
): Promise<VisitorAuth> {
  const { name, challenge } = credentialHeaders[mode];
  const sent = request.header(name);
  const refuse = (failure: Failure) => ({ refused: problemResponse(request, failure) });
  const unknown = (detail: string) =>
    refuse(fail('unauthenticated', { detail, headers: { 'www-authenticate': challenge } }));
  if (sent === null)
    return site.isOpen
      ? { person: null, userId: null }
      : unknown(`The app requires authentication: send \`${name}\`.`);
  const credential = await deps.findCredential(new Request('http://app/', { headers: { [name]: sent } }));
  if (!credential || !isFor(credential.caller, site))
    return unknown('The credential is unknown, expired or not valid for this app.');
  const { scope, userId } = credential.caller;
  if (scope && !isInScope(scope, site, request))
    return refuse(
      fail('forbidden', { detail: 'The scope of the token does not include this app or action.' }),
    );
  const person = await cachedPerson(deps, site, userId);
  return person === null ? refuse(fail('not_found')) : { person, userId };
}

const credentialHeaders = {
  bearer: { name: 'authorization', challenge: 'Bearer realm="app"' },
  api_key: { name: 'x-api-key', challenge: 'ApiKey realm="app"' },
} as const;

/** A credential issued through another app is valid for that app only; programs with an identity of an app are no visitors. */
function isFor(caller: Caller, { appId }: SiteSnapshot): boolean {
  if (caller.ownApp) return false;
  return caller.throughApp === undefined || caller.throughApp === appId;
}

/** A WebSocket can write, although it starts with a GET. */
function isInScope(
  { tenantId, apps, actions }: NonNullable<Caller['scope']>,
  site: SiteSnapshot,
  request: EdgeRequest,
): boolean {
  const reads = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) && request.header('upgrade') === null;
  const isIts = tenantId === site.tenantId && (apps.length === 0 || apps.includes(site.appId));
  return isIts && actions.includes(reads ? 'read' : 'write');
}

export async function findPerson(db: Db, visit: Visit): Promise<Person | null> {
  const { appId, userId } = visit;
  if (!(await canVisit({ db }, visit))) return null;
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  const app = await findAppForSignIn({ db }, { appId, userId });
  return { userId, email: user.email, name: user.name, relation: app?.relation ?? 'none' };
}
