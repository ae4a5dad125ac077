import { isSame } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { mayReplaceScope } from './rules.ts';
import { grantRecord, lockGrantRow, saveScope } from './store.ts';

export async function replaceGrantScope(ctx: TenantMutationCtx, input: { grantId: string; scope: string[] }) {
  const row = await lockGrantRow(ctx.db, ctx.tenant.id, input.grantId);
  if (!row) throw fail('not_found');
  if (!mayReplaceScope(row.status)) throw fail('grant_not_active', { detail: `The grant is ${row.status}.` });
  ctx.audit({
    action: 'grants.replaceScope',
    target: { kind: 'grant', id: row.id, name: row.subject_id },
    before: { scope_resource_paths: row.scope_resource_paths },
    after: { scope_resource_paths: input.scope },
  });
  if (input.scope.length === 0) ctx.warn('An empty scope restores the whole connector.');
  if (isSame(row.scope_resource_paths, input.scope)) return grantRecord(row);
  await saveScope(ctx.db, ctx.tenant.id, row.id, input.scope, ctx.now);
  return grantRecord({ ...row, scope_resource_paths: input.scope, updated_at: ctx.now });
}
