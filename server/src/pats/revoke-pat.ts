import { credentialTag } from '../identity/tags.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { type PatRecord, patRecord, patStatus } from './rules.ts';
import { lockPatRow, markRevoked } from './store.ts';

/** One's own, or any as admin. Someone else's is to a member as if it were not there. */
export async function revokePat(
  ctx: TenantMutationCtx,
  { patId }: { patId: string },
): Promise<PatRecord & { changed?: false }> {
  const row = await lockPatRow(ctx.db, ctx.tenant.id, patId);
  if (!row || (row.user_id !== ctx.caller.userId && ctx.tenant.role !== 'tenant_admin'))
    throw fail('not_found');
  const target = { kind: 'pat', id: row.id, name: row.name };
  if (row.revoked_at) {
    ctx.audit({ action: 'pats.revoke', target, before: {}, after: {} });
    return { ...patRecord(row, ctx.now), changed: false };
  }
  await markRevoked(ctx.db, ctx.tenant.id, row.id, ctx.now);
  ctx.audit({
    action: 'pats.revoke',
    target,
    before: { status: patStatus(row, ctx.now), user_id: row.user_id },
    after: { status: 'revoked', user_id: row.user_id },
  });
  ctx.changed(credentialTag(row.secret_hash));
  return patRecord({ ...row, revoked_at: ctx.now }, ctx.now);
}
