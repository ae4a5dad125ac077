import { cliClientId } from '@svc/contract/identity.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { openLogin } from '../sessions/open-login.ts';
import { lockUserRow } from './store.ts';

const ttlSecondsMin = 1;
export const issuedTokenSecondsMax = 24 * 3600;

/** A token of the kind that a login gives, for automation and tests. */
export async function issueAccessToken(
  ctx: MutationCtx,
  { userId, ttlSeconds }: { userId: string; ttlSeconds: number },
): Promise<{ token: string; expiresAt: Date }> {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < ttlSecondsMin || ttlSeconds > issuedTokenSecondsMax) {
    throw invalid('ttl', 'must be 1 second to 24 hours');
  }
  const user = await lockUserRow(ctx.db, userId);
  if (!user) throw fail('not_found');
  if (user.status !== 'active') throw fail('invalid_state_transition', { detail: 'The user is suspended.' });
  const login = await openLogin(ctx, { userId: user.id, clientId: cliClientId, ttlSeconds });
  ctx.audit({
    action: 'tokens.issue',
    target: { kind: 'user', id: user.id, name: user.email },
    before: null,
    after: { client: cliClientId, expires_in_seconds: ttlSeconds },
  });
  return login;
}
