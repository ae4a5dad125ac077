import type { Session } from '@svc/contract/identity.shapes.ts';
import { cliClientId } from '@svc/contract/identity.ts';
import type { z } from 'zod';
import type { Caller, Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { orNotFound } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { ownClientIds, parseAppClientId } from './clients.ts';
import { type DeleteDeps, deleteGrants, deleteModel, type OauthPayload } from './models-store.ts';
import {
  deleteModelsOf,
  deleteSession,
  deleteSessionsOf,
  findAccessTokenRow,
  findSessionRow,
  findSignInRow,
  listLiveRows,
  listSignedInApps,
  listSignInNames,
  lockSignInRow,
  type SignInRow,
} from './store.ts';

const tokenKinds: readonly string[] = ['AccessToken', 'RefreshToken'];

type SessionRecord = z.output<typeof Session>;

function groupSessions(rows: readonly SignInRow[], currentId: string): SessionRecord[] {
  const tokensEnd = new Map<string, Date>();
  // The rows are sorted: the first token of a grant is its newest.
  const newestToken = new Map<string, SignInRow>();
  for (const row of rows) {
    if (row.grant_id === null || row.expires_at === null || !tokenKinds.includes(row.kind)) continue;
    const grant = sha256(row.grant_id);
    if (!newestToken.has(grant)) newestToken.set(grant, row);
    const end = tokensEnd.get(grant);
    if (!end || end < row.expires_at) tokensEnd.set(grant, row.expires_at);
  }
  return rows.flatMap((row) => {
    const end =
      row.kind === 'Grant' ? grantEnd(row, tokensEnd) : row.kind === 'Session' ? row.expires_at : null;
    if (!end) return [];
    // A grant is made in the browser that approves; its tokens go to the client.
    const { address, device } = newestToken.get(row.id_hash) ?? row;
    return {
      id: sessionId(row),
      kind: sessionKind(row),
      client: row.client_id ?? '',
      address: address ?? '',
      device: device ?? '',
      created_at: row.created_at.toISOString(),
      expires_at: end.toISOString(),
      current: row.id_hash === currentId,
    };
  });
}

/** A UUIDv7 from the creation time and the start of the hash, derived on read. Not a credential. */
function sessionId({ id_hash, created_at }: Pick<SignInRow, 'id_hash' | 'created_at'>): string {
  const time = created_at.getTime().toString(16).padStart(12, '0');
  const variant = ((Number.parseInt(id_hash.charAt(3), 16) & 0x3) | 0x8).toString(16);
  const [a, b, c] = [id_hash.slice(0, 3), id_hash.slice(4, 7), id_hash.slice(7, 19)];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-${variant}${b}-${c}`;
}

function sessionKind(row: Pick<SignInRow, 'kind' | 'client_id'>): SessionRecord['kind'] {
  if (row.kind === 'Session') return 'browser';
  return row.client_id === cliClientId ? 'cli' : 'app';
}

function listGrantsOfSession(session: OauthPayload): string[] {
  return Object.values(session.authorizations ?? {}).flatMap(({ grantId, persistsLogout }) =>
    grantId === undefined || persistsLogout ? [] : [sha256(grantId)],
  );
}

function earliest(a: Date, b: Date): Date {
  return a < b ? a : b;
}

function grantEnd(grant: SignInRow, tokensEnd: ReadonlyMap<string, Date>): Date | null {
  const end = tokensEnd.get(grant.id_hash) ?? null;
  return end && grant.expires_at ? earliest(end, grant.expires_at) : end;
}

export async function listSessions(ctx: Ctx, query: PageQuery) {
  const rows = await listLiveRows(ctx.db, ctx.caller.userId, ctx.now);
  return paginate(query, groupSessions(rows, ctx.caller.credentialId));
}

export async function revokeSession(ctx: MutationCtx, { session }: { session: string }): Promise<void> {
  const { userId } = ctx.caller;
  const match = (await listSignInNames(ctx.db, userId)).find((row) => sessionId(row) === session);
  const row = orNotFound(match && (await lockSignInRow(ctx.db, userId, match.id_hash)));
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
  await deleteModelsOf(ctx.db, 'user_id', userId, { keep });
  ctx.invalidate(userTag(userId));
}

export async function endSession(deps: DeleteDeps, { secret }: { secret: string }): Promise<boolean> {
  return deleteModel(deps, { kind: 'Session', idHash: sha256(secret) });
}

export async function endSignInsToApp(ctx: MutationCtx, { appId }: { appId: string }): Promise<void> {
  // An app's client id is the app's id.
  await deleteModelsOf(ctx.db, 'client_id', appId);
  ctx.invalidate(appTag(appId));
}

/** The people whose sessions ended. Visits to apps end with them; logins of the command line and tokens go on. */
export async function endBrowserSessions(ctx: MutationCtx, { userIds }: { userIds: readonly string[] }) {
  const ended = await deleteSessionsOf(ctx.db, userIds);
  for (const userId of ended) ctx.invalidate(userTag(userId));
  return ended;
}

/** Sign-ins to the platform remain: their access depends on memberships. */
export async function endAppSignIns(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  for (const { id } of await listSignedInApps(ctx.db, { tenantId, userId }))
    await deleteModelsOf(ctx.db, 'user_id', userId, { clientId: id });
  ctx.invalidate(userTag(userId));
}

interface SignIn extends Pick<Caller, 'userId' | 'credentialId' | 'expiresAt'> {
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
