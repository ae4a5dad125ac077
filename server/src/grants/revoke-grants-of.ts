import type { MutationCtx } from '../plumbing/context.ts';
import { lockActiveGrantRowsOf, saveRevocation } from './store.ts';

/** All that one person has been granted in a tenant, as they leave it: coming back, they begin with nothing. */
export async function revokeGrantsOf(
  ctx: MutationCtx,
  input: { tenantId: string; userId: string; reason: string },
): Promise<void> {
  const by = ctx.caller.userId;
  for (const row of await lockActiveGrantRowsOf(ctx.db, input.tenantId, input.userId)) {
    await saveRevocation(ctx.db, input.tenantId, row.id, by, ctx.now);
    ctx.audit({
      action: 'grants.revoke',
      target: { kind: 'grant', id: row.id, name: row.subject_id },
      before: { status: row.status, revoked_by: '', reason: '' },
      after: { status: 'revoked', revoked_by: by, reason: input.reason },
    });
  }
}
