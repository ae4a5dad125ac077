import { randomBytes } from 'node:crypto';
import { cliClientId } from '@svc/contract/identity.ts';
import { findAppForSignIn } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { lockUser } from '../../people/users/users.ts';
import { cliScope } from './clients.ts';
import { insertModelRows } from './store.ts';

const ttlSecondsMax = 24 * 3600;

interface TokenRequest {
  userId: string;
  ttlSeconds: number;
  /** Issues the token that a sign-in of the user to this app would give. */
  throughApp?: string | undefined;
}

export async function issueAccessToken(
  ctx: MutationCtx,
  { userId, ttlSeconds, throughApp }: TokenRequest,
): Promise<{ token: string; expiresAt: Date }> {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > ttlSecondsMax) {
    throw validationError('ttl', 'must be 1 second to 24 hours');
  }
  const user = orNotFound(await lockUser(ctx.db, userId));
  if (user.status !== 'active') throw fail('invalid_state_transition', { detail: 'The user is suspended.' });
  const clientId = throughApp === undefined ? cliClientId : await requireSignIn(ctx, user, throughApp);
  const login = await openLogin(ctx, { userId: user.id, ttlSeconds, clientId });
  ctx.audit({
    action: 'tokens.issue',
    ...(throughApp !== undefined && { appId: throughApp }),
    target: { kind: 'user', id: user.id, name: user.email },
    before: null,
    after: { client: clientId, expires_in_seconds: ttlSeconds },
  });
  return login;
}

async function requireSignIn(
  ctx: MutationCtx,
  { id: userId, email }: { id: string; email: string },
  appId: string,
): Promise<string> {
  const app = await findAppForSignIn(ctx, { appId, userId });
  if (app?.record === 'active') return app.id;
  throw fail('forbidden', {
    detail: `${email} cannot sign in to this app: it must be active, and visible to them as an active member.`,
  });
}

/** Written like the OpenID provider does, so that the login is accepted, listed and revoked alike. `jti` would be the secret. */
async function openLogin(
  ctx: MutationCtx,
  { userId, ttlSeconds, clientId }: { userId: string; ttlSeconds: number; clientId: string },
) {
  const [token, grantId] = [opaqueId(), opaqueId()];
  const expiresAt = new Date(ctx.now.getTime() + ttlSeconds * 1000);
  const payload = {
    accountId: userId,
    clientId,
    // Whole seconds (RFC 7519), rounded up so that a one-second token is not created expired.
    iat: Math.floor(ctx.now.getTime() / 1000),
    exp: Math.ceil(expiresAt.getTime() / 1000),
  };
  const row = {
    user_id: userId,
    client_id: clientId,
    grant_id: null,
    uid: null,
    user_code_hash: null,
    created_at: ctx.now,
    expires_at: expiresAt,
    consumed_at: null,
    address: null,
    device: null,
  };
  await insertModelRows(ctx.db, [
    {
      ...row,
      kind: 'Grant',
      id_hash: sha256(grantId),
      payload: { ...payload, kind: 'Grant', openid: { scope: cliScope } },
    },
    {
      ...row,
      kind: 'AccessToken',
      id_hash: sha256(token),
      grant_id: grantId,
      payload: { ...payload, kind: 'AccessToken', grantId, gty: 'operator', scope: cliScope },
    },
  ]);
  return { token, expiresAt };
}

function opaqueId(): string {
  return randomBytes(32).toString('base64url');
}
