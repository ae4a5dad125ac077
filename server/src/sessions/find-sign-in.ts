import { appIdOf } from '../identity/app-clients.ts';
import { ownClientIds } from '../identity/provider-clients.ts';
import type { Ctx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { earliest } from './rules.ts';
import { findAccessTokenRow, findSessionRow } from './store.ts';

export interface SignIn {
  userId: string;
  /** What ends with it: the hash of the session, or of the grant behind the token. */
  credentialId: string;
  expiresAt: Date;
  /** The app that the token was issued to, by its id; null for a login to the platform. */
  throughApp: string | null;
  /** The hashes of all records whose end is its end. */
  restsOn: string[];
}

/** What stands behind an access token or a session cookie, by the SHA-256 of its value. */
export function findSignIn(
  ctx: Pick<Ctx, 'db'>,
  { kind, hash }: { kind: 'login' | 'session'; hash: string },
): Promise<SignIn | null> {
  return kind === 'login' ? findLogin(ctx.db, hash) : findSession(ctx.db, hash);
}

async function findLogin(db: Db, hash: string): Promise<SignIn | null> {
  const token = await findAccessTokenRow(db, hash);
  if (!token?.user_id || !token.expires_at) return null;
  const throughApp = appIdOf(token.client_id);
  // A token of any other client, or made out to one, tells them who signed in; it does not act as them here.
  if (throughApp === null && !ownClientIds.includes(token.client_id ?? '')) return null;
  if (token.payload.aud !== undefined) return null;
  const login: SignIn = {
    userId: token.user_id,
    credentialId: token.grant_hash,
    expiresAt: token.expires_at,
    throughApp,
    restsOn: [hash, token.grant_hash],
  };
  if (!token.payload.expiresWithSession) return login;

  const session = await findSessionRow(db, { uid: token.payload.sessionUid ?? '' });
  if (!session?.expires_at || session.user_id !== token.user_id) return null;
  if (session.payload.authorizations?.[token.client_id ?? '']?.grantId !== token.grant_id) return null;
  return {
    ...login,
    expiresAt: earliest(login.expiresAt, session.expires_at),
    restsOn: [...login.restsOn, session.id_hash],
  };
}

async function findSession(db: Db, hash: string): Promise<SignIn | null> {
  const session = await findSessionRow(db, { hash });
  // A session before its sign-in belongs to nobody yet.
  if (!session?.user_id || !session.expires_at) return null;
  return {
    userId: session.user_id,
    credentialId: hash,
    expiresAt: session.expires_at,
    throughApp: null,
    restsOn: [hash],
  };
}
