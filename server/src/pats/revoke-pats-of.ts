import { credentialTag } from '../identity/tags.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { lockActivePatRowsOf, lockPatsOf, markRevoked } from './store.ts';

/** All tokens of one person for a tenant, as they leave it: coming back, they make new ones. */
export async function revokePatsOf(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  await lockPatsOf(ctx.db, tenantId, userId);
  for (const row of await lockActivePatRowsOf(ctx.db, tenantId, userId, ctx.now)) {
    await markRevoked(ctx.db, tenantId, row.id, ctx.now);
    ctx.audit({
      action: 'pats.revoke',
      target: { kind: 'pat', id: row.id, name: row.name },
      before: { status: 'active', user_id: userId },
      after: { status: 'revoked', user_id: userId },
    });
    ctx.changed(credentialTag(row.secret_hash));
  }
}
