import type { Logger } from 'pino';
import { findAppForSignIn } from '../../apps/record/find-app.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { appTag, credentialTag, userTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import type { FastPathRequest } from '../../http/handlers.ts';
import { findUser } from '../../people/users/users.ts';
import { findAppTokenCaller, markAppTokenUsed } from '../app-identity/app-tokens.ts';
import { createUseRecorder, findPatByHash, type PatCredential, parseTokenPrefix } from '../pats/find-pat.ts';
import { findSignIn } from '../sessions/sessions.ts';

export interface Credential {
  caller: Caller;
  pat: PatCredential | null;
  appToken?: { id: string; tenantId: string };
}

export interface CredentialDeps {
  db: Db;
  cache: TaggedCache<Credential>;
  now: () => Date;
  /** Origin of the base URL: session cookies are accepted from there only. */
  origin: string;
  log: Logger;
}

/**
 * Null for unknown, expired and revoked credentials and for suspended users alike. An app's token gives access to rows only.
 * Not a promise where the credential is known, as it is with most requests.
 */
export type FindCredential = (request: FastPathRequest) => Promise<Credential | null> | Credential | null;

export function createFindCredential(deps: CredentialDeps): FindCredential {
  const hashes = createSecretHashes();
  const recordPatUse = createUseRecorder(deps);
  const recordAppTokenUse = createUseRecorder(deps, markAppTokenUsed);
  function accept(
    credential: Credential | null,
    { kind, secret }: PresentedCredential,
    hashed: HashedSecret,
  ) {
    if (!credential || credential.caller.expiresAt <= deps.now()) return null;
    hashes.remember(kind, secret, hashed);
    if (credential.pat) recordPatUse(credential.pat);
    if (credential.appToken) recordAppTokenUse(credential.appToken);
    return credential;
  }

  return (request) => {
    const presented = presentedCredential(request, deps.origin);
    const hashed = presented && hashes.get(presented.kind, presented.secret);
    if (!hashed) return null;
    const known = deps.cache.peek(hashed.cacheKey);
    if (known) return accept(known, presented, hashed);
    return deps.cache
      .get(hashed.cacheKey, () => load(deps.db, presented.kind, hashed.hash))
      .then((credential) => accept(credential, presented, hashed));
  };
}

type Kind = PresentedCredential['kind'];
type HashedSecret = { hash: string; cacheKey: string };

const secretsMax = 1_000;
const secretsMs = 60_000;

/** With every request, checksum and hash took a twelfth of the time of a point read. Secrets are forgotten after a minute. */
function createSecretHashes() {
  const newMap = () => new Map<string, HashedSecret>();
  const hashes = { login: newMap(), session: newMap(), pat: newMap(), app_token: newMap() };
  let isForgetting = false;
  const forget = () => {
    isForgetting = false;
    for (const each of Object.values(hashes)) each.clear();
  };

  return {
    get(kind: Kind, secret: string): HashedSecret | null {
      const known = hashes[kind].get(secret);
      if (known) return known;
      // Rejects made-up tokens without a query.
      if (kind === 'pat' && parseTokenPrefix(secret) !== 'svcpat_') return null;
      const hash = sha256(secret);
      return { hash, cacheKey: `${kind} ${hash}` };
    },
    /** Of a valid credential. */
    remember(kind: Kind, secret: string, hashed: HashedSecret): void {
      if (hashes[kind].size >= secretsMax) return;
      hashes[kind].set(secret, hashed);
      if (isForgetting) return;
      isForgetting = true;
      setTimeout(forget, secretsMs).unref();
    },
  };
}

function load(db: Db, kind: PresentedCredential['kind'], hash: string) {
  if (kind === 'pat') return loadPat(db, hash);
  return kind === 'app_token' ? findAppTokenCaller(db, hash) : loadSignIn(db, kind, hash);
}

async function loadSignIn(db: Db, kind: 'login' | 'session', hash: string) {
  const signIn = await findSignIn(db, { kind, hash });
  if (!signIn) return null;
  const caller = await findCaller(db, kind, signIn);
  if (!caller) return null;
  const tags = [...signIn.dependsOn.map(credentialTag), userTag(caller.userId)];
  const { throughApp } = signIn;
  if (throughApp === null) return { value: { caller, pat: null }, tags };
  // The app may have been deleted or closed to the user since the sign-in.
  if (!(await findAppForSignIn({ db }, { appId: throughApp, userId: caller.userId }))) return null;
  return { value: { caller: { ...caller, throughApp }, pat: null }, tags: [...tags, appTag(throughApp)] };
}

async function loadPat(db: Db, hash: string) {
  const pat = await findPatByHash(db, hash);
  if (!pat) return null;
  const { tenantId, userId, actions, apps, expiresAt } = pat;
  const caller = await findCaller(db, 'pat', { userId, credentialId: hash, expiresAt });
  if (!caller) return null;
  return {
    value: { caller: { ...caller, scope: { tenantId, actions, apps } }, pat },
    tags: [credentialTag(hash), userTag(caller.userId)],
  };
}

async function findCaller(
  db: Db,
  kind: Caller['kind'],
  { userId, credentialId, expiresAt }: Pick<Caller, 'userId' | 'credentialId' | 'expiresAt'>,
): Promise<Caller | null> {
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  return { kind, userId, email: user.email, name: user.name, credentialId, expiresAt };
}

/** Authenticates requests to the control plane; null leads to 401. Tokens issued to apps are refused. */
export function createAuthenticate(deps: CredentialDeps): (request: Request) => Promise<Caller | null> {
  const findCredential = createFindCredential(deps);
  return async (request) => {
    const caller = (await findCredential(request))?.caller;
    return caller && caller.throughApp === undefined ? caller : null;
  };
}

interface PresentedCredential {
  kind: 'login' | 'session' | 'pat' | 'app_token';
  secret: string;
}

/** `__Host-` keeps other hosts of the domain from setting the cookie. Browsers accept it over TLS only, and with the path `/`. */
export function hostCookieName(baseUrl: string, name: string): string {
  return baseUrl.startsWith('https:') ? `__Host-${name}` : name;
}

export function sessionCookieName(baseUrl: string): string {
  return hostCookieName(baseUrl, 'svc_session');
}

/** Null without a well-formed credential. An invalid `Authorization` header is never replaced by a cookie. */
export function presentedCredential(request: FastPathRequest, origin: string): PresentedCredential | null {
  const authorization = request.headers.get('authorization');
  const apiKey = request.headers.get('x-api-key');
  if (authorization !== null && apiKey !== null) throw fail('ambiguous_credentials');
  if (authorization !== null) {
    const token = bearerPattern.exec(authorization)?.[1];
    return token === undefined ? null : { kind: isAppToken(token) ? 'app_token' : 'login', secret: token };
  }
  if (apiKey !== null) return { kind: isAppToken(apiKey) ? 'app_token' : 'pat', secret: apiKey };

  const session = readCookie(request.headers.get('cookie') ?? '', sessionCookieName(origin));
  if (session === null) return null;
  if (!safeMethods.has(request.method) && !isSameOrigin(request, origin)) throw fail('cross_site_request');
  return { kind: 'session', secret: session };
}

/** Tokens of apps and service accounts are accepted in either header. Made-up ones cost no query. */
function isAppToken(secret: string): boolean {
  if (!secret.startsWith('svcapp_') && !secret.startsWith('svcsat_')) return false;
  const prefix = parseTokenPrefix(secret);
  return prefix === 'svcapp_' || prefix === 'svcsat_';
}

const bearerPattern = /^bearer +([\w.~+/-]{1,512}=*)$/i;
const cookiePattern = /^[\w.~-]+$/;
const cookieCharsMaxDefault = 256;
const safeMethods = new Set(['GET', 'HEAD']);

/** CSRF protection: a browser also sends its cookie with requests that other sites trigger. */
function isSameOrigin(request: FastPathRequest, origin: string): boolean {
  return request.headers.get('sec-fetch-site') === 'same-origin' || request.headers.get('origin') === origin;
}

/** Two cookies of the same name mean that another host has set one: neither is accepted. */
export function readCookie(header: string, name: string, charsMax = cookieCharsMaxDefault): string | null {
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  const isValid = values.length === 1 && value !== undefined && value.length <= charsMax;
  return isValid && cookiePattern.test(value) ? value : null;
}
