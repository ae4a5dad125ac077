import type { Caller, Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { ownClientIds, parseAppClientId } from './clients.ts';
import { deleteGrants, deleteModel } from './models-store.ts';
import { earliest, groupSessions, listGrantsOfSession, sessionId, sessionKind } from './rules.ts';
import {
  deleteModelsOf,
  deleteSession,
  findAccessTokenRow,
  findSessionRow,
  findSignInRow,
  listLiveRows,
  listSignInNames,
  lockSignInRow,
} from './store.ts';

export async function listSessions(ctx: Ctx, query: PageQuery) {
  const rows = await listLiveRows(ctx.db, ctx.caller.userId, ctx.now);
  return paginate(query, groupSessions(rows, ctx.caller.credentialId));
}

export async function revokeSession(ctx: MutationCtx, { session }: { session: string }): Promise<void> {
  const { userId } = ctx.caller;
  const match = (await listSignInNames(ctx.db, userId)).find((row) => sessionId(row) === session);
  const row = match && (await lockSignInRow(ctx.db, userId, match.id_hash));
  if (!row) throw fail('not_found');
  const hashes = row.kind === 'Session' ? listGrantsOfSession(row.payload) : [row.id_hash];
  await deleteGrants(ctx.db, { userId, hashes });
  if (row.kind === 'Session') await deleteSession(ctx.db, userId, row.id_hash);
  ctx.audit({
    action: 'sessions.revoke',
    target: { kind: 'session', id: session, name: ctx.caller.email },
    before: { kind: sessionKind(row), client: row.client_id ?? '' },
    after: null,
  });
  // The user's tag covers every token under the grant.
  ctx.invalidate(userTag(userId));
}

/** Also ends sign-ins in progress. PATs remain, and the sign-in with the credential `keep`. */
export async function endSignIns(
  ctx: MutationCtx,
  { userId, keep }: { userId: string; keep?: string | undefined },
): Promise<void> {
  await deleteModelsOf(ctx.db, 'user_id', userId, keep);
  ctx.invalidate(userTag(userId));
}

/** Returns false when there was no such session. */
export async function endSession(db: Db, { secret }: { secret: string }): Promise<boolean> {
  return deleteModel(db, { kind: 'Session', idHash: sha256(secret) });
}

/** Also ends sign-ins in progress. */
export async function endSignInsToApp(ctx: MutationCtx, { appId }: { appId: string }): Promise<void> {
  // An app's client id is the app's id.
  await deleteModelsOf(ctx.db, 'client_id', appId);
  ctx.invalidate(appTag(appId));
}

/** `credentialId` is the hash of the session or of the grant behind the token. */
interface SignIn extends Pick<Caller, 'userId' | 'credentialId' | 'expiresAt'> {
  /** The app that the token was issued to; null for a login to the platform. */
  throughApp: string | null;
  /** Hashes of all records whose deletion ends the sign-in. */
  dependsOn: string[];
}

export function findSignIn(db: Db, { kind, hash }: { kind: 'login' | 'session'; hash: string }) {
  return kind === 'login' ? findLogin(db, hash) : findSession(db, hash);
}

async function findLogin(db: Db, hash: string): Promise<SignIn | null> {
  const token = await findAccessTokenRow(db, hash);
  if (!token?.user_id || !token.expires_at) return null;
  const throughApp = parseAppClientId(token.client_id);
  // A token for another client identifies the user to it, but gives no access here.
  if (throughApp === null && !ownClientIds.includes(token.client_id ?? '')) return null;
  if (token.payload.aud !== undefined) return null;
  const login: SignIn = {
    userId: token.user_id,
    credentialId: token.grant_hash,
    expiresAt: token.expires_at,
    throughApp,
    dependsOn: [hash, token.grant_hash],
  };
  if (!token.payload.expiresWithSession) return login;

  const session = await findSessionRow(db, { uid: token.payload.sessionUid ?? '' });
  if (!session?.expires_at || session.user_id !== token.user_id) return null;
  if (session.payload.authorizations?.[token.client_id ?? '']?.grantId !== token.grant_id) return null;
  return {
    ...login,
    expiresAt: earliest(login.expiresAt, session.expires_at),
    dependsOn: [...login.dependsOn, session.id_hash],
  };
}

async function findSession(db: Db, hash: string): Promise<SignIn | null> {
  const { user_id: userId, expires_at: expiresAt } = (await findSessionRow(db, { hash })) ?? {};
  // A session before its sign-in has no user.
  if (!userId || !expiresAt) return null;
  return { userId, credentialId: hash, expiresAt, throughApp: null, dependsOn: [hash] };
}

export async function findSignInEnd(
  ctx: Pick<Ctx, 'db'>,
  { userId, credentialId }: { userId: string; credentialId: string },
): Promise<Date | null> {
  return (await findSignInRow(ctx.db, userId, credentialId))?.expires_at ?? null;
}
