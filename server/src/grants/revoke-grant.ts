import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { mayRevoke } from './rules.ts';
import { grantRecord, lockGrantRow, saveRevocation } from './store.ts';

export async function revokeGrant(ctx: TenantMutationCtx, input: { grantId: string; reason: string }) {
  const row = await lockGrantRow(ctx.db, ctx.tenant.id, input.grantId);
  if (!row) throw fail('not_found');
  // A repeat changes nothing and says so; an expired grant has ended in another way.
  const target = { kind: 'grant', id: row.id, name: row.subject_id };
  if (row.status === 'revoked') {
    ctx.audit({ action: 'grants.revoke', target, before: {}, after: {} });
    return { ...grantRecord(row), changed: false as const };
  }
  if (!mayRevoke(row.status)) throw fail('grant_not_active', { detail: `The grant is ${row.status}.` });
  await saveRevocation(ctx.db, ctx.tenant.id, row.id, ctx.caller.userId, ctx.now);
  ctx.audit({
    action: 'grants.revoke',
    target,
    before: { status: row.status, revoked_by: '', revoke_reason: '' },
    after: { status: 'revoked', revoked_by: ctx.caller.userId, revoke_reason: input.reason },
  });
  const revoked = {
    ...row,
    status: 'revoked' as const,
    revoked_by: ctx.caller.userId,
    revoked_at: ctx.now,
    updated_at: ctx.now,
  };
  return grantRecord(revoked);
}
