import type { Logger } from 'pino';
import { findAppForSignIn } from '../apps/find-app-for-sign-in.ts';
import { findPatByHash, type PatCredential } from '../pats/find-pat-by-hash.ts';
import { createNotePatUse } from '../pats/note-pat-use.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { Caller } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { findSignIn } from '../sessions/find-sign-in.ts';
import { appTag } from '../tables/catalogue.ts';
import { findUser } from '../users/find-user.ts';
import { isWellFormedPat } from './pat-format.ts';
import { type PresentedCredential, presentedCredential } from './presented-credential.ts';
import { credentialTag, userTag } from './tags.ts';

/** A caller with the credential they came by; `pat` holds its scope where it is a personal access token. */
export interface Credential {
  caller: Caller;
  pat: PatCredential | null;
}

export interface CredentialParts {
  db: Db;
  cache: TaggedCache<Credential>;
  now: () => Date;
  /** Of the base URL: requests of a browser session count from there only. */
  origin: string;
  log: Logger;
}

/**
 * Who sends a request, or null: unknown, expired, revoked, or of someone suspended are all the same. A caller who comes
 * through an app is for the rows only.
 */
export function createFindCredential(
  parts: CredentialParts,
): (request: Request) => Promise<Credential | null> {
  const notePatUse = createNotePatUse(parts);
  return async (request) => {
    const presented = presentedCredential(request, parts.origin);
    if (!presented) return null;
    // A made-up token ends here, before it costs a query.
    if (presented.kind === 'pat' && !isWellFormedPat(presented.secret)) return null;
    const hash = sha256(presented.secret);
    const credential = await keptOrLoaded(parts, presented.kind, hash);
    if (!credential || credential.caller.expiresAt <= parts.now()) return null;
    if (credential.pat) notePatUse(credential.pat);
    return credential;
  };
}

function keptOrLoaded(
  { db, cache }: CredentialParts,
  kind: PresentedCredential['kind'],
  hash: string,
): Promise<Credential | null> {
  return cache.get(`${kind} ${hash}`, () =>
    kind === 'pat' ? loadPat(db, hash) : loadSignIn(db, kind, hash),
  );
}

async function loadSignIn(db: Db, kind: 'login' | 'session', hash: string) {
  const signIn = await findSignIn({ db }, { kind, hash });
  if (!signIn) return null;
  const caller = await callerOf(db, kind, signIn);
  if (!caller) return null;
  const tags = [...signIn.restsOn.map(credentialTag), userTag(caller.userId)];
  const { throughApp } = signIn;
  if (throughApp === null) return { value: { caller, pat: null }, tags };
  // The app may be gone, or closed to them since they signed in.
  if (!(await findAppForSignIn({ db }, { appId: throughApp, userId: caller.userId }))) return null;
  return { value: { caller: { ...caller, throughApp }, pat: null }, tags: [...tags, appTag(throughApp)] };
}

async function loadPat(db: Db, hash: string) {
  const pat = await findPatByHash({ db }, { hash });
  if (!pat) return null;
  const caller = await callerOf(db, 'pat', {
    userId: pat.userId,
    credentialId: hash,
    expiresAt: pat.expiresAt,
  });
  if (!caller) return null;
  const { tenantId, actions, apps } = pat;
  return {
    value: { caller: { ...caller, scope: { tenantId, actions, apps } }, pat },
    tags: [credentialTag(hash), userTag(caller.userId)],
  };
}

async function callerOf(
  db: Db,
  kind: Caller['kind'],
  { userId, credentialId, expiresAt }: { userId: string; credentialId: string; expiresAt: Date },
): Promise<Caller | null> {
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  return { kind, userId, email: user.email, name: user.name, credentialId, expiresAt };
}
