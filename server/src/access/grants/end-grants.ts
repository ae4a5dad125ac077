import type { AuditedChange, MutationCtx, TenantMutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { canRevoke } from './rules.ts';
import {
  type GrantRow,
  grantRecord,
  listTenantsWithOverdueGrants,
  lockActiveGrantRows,
  lockGrantRow,
  lockOverdueGrantRows,
  type Subject,
  updateGrantRow,
} from './store.ts';

const auditTarget = ({ id, subject_id }: GrantRow) => ({ kind: 'grant', id, name: subject_id });

export async function revokeGrant(ctx: TenantMutationCtx, input: { grantId: string; reason: string }) {
  const row = orNotFound(await lockGrantRow(ctx.db, ctx.tenant.id, input.grantId));
  const target = auditTarget(row);
  if (row.status === 'revoked') {
    ctx.audit({ action: 'grants.revoke', target, before: {}, after: {} });
    return { ...grantRecord(row), changed: false as const };
  }
  if (!canRevoke(row.status)) throw fail('grant_not_active', { detail: `The grant is ${row.status}.` });
  const set = await saveRevocation(ctx, row);
  ctx.audit({
    action: 'grants.revoke',
    target,
    before: { status: row.status, revoked_by: '', revoke_reason: '' },
    after: { status: set.status, revoked_by: set.revoked_by, revoke_reason: input.reason },
  });
  return grantRecord({ ...row, ...set });
}

async function saveRevocation(ctx: MutationCtx, { id, tenant_id }: GrantRow) {
  const { caller, now } = ctx;
  const set = { status: 'revoked', revoked_by: caller.userId, revoked_at: now, updated_at: now } as const;
  await updateGrantRow(ctx.db, id, set);
  ctx.invalidate(governanceTag(tenant_id));
  return set;
}

export async function revokeGrants(ctx: MutationCtx, input: SubjectRevocation): Promise<void> {
  for (const change of await saveRevocations(ctx, input)) ctx.audit(change);
}

interface SubjectRevocation {
  tenantId: string;
  subject: Subject;
  reason: string;
}

export async function saveRevocations(
  ctx: MutationCtx,
  { tenantId, subject, reason }: SubjectRevocation,
): Promise<AuditedChange[]> {
  const changes: AuditedChange[] = [];
  for (const row of await lockActiveGrantRows(ctx.db, tenantId, subject)) {
    const { status, revoked_by } = await saveRevocation(ctx, row);
    changes.push({
      action: 'grants.revoke',
      target: auditTarget(row),
      before: { status: row.status, revoked_by: '', reason: '' },
      after: { status, revoked_by, reason },
    });
  }
  return changes;
}

const perRunMax = 500;

/** A tenant whose grants cannot be expired does not hold up the others. */
export async function expireDueGrants(deps: OperatorDeps): Promise<void> {
  for (const tenantId of await listTenantsWithOverdueGrants(deps.db)) {
    const change = { name: 'grants.expire', auditTenantId: tenantId };
    await runAsOperator(deps, change, (ctx) => expireGrants(ctx, { tenantId })).catch((error: unknown) =>
      deps.log.error({ err: error, tenant: tenantId }, 'grant expiry failed'),
    );
  }
}

export async function expireGrants(ctx: MutationCtx, input: { tenantId: string }): Promise<number> {
  const rows = await lockOverdueGrantRows(ctx.db, input.tenantId, perRunMax);
  for (const row of rows) {
    const after = { status: 'expired' } as const;
    await updateGrantRow(ctx.db, row.id, { ...after, updated_at: ctx.now });
    ctx.audit({ action: 'grants.expire', target: auditTarget(row), before: { status: 'active' }, after });
  }
  return rows.length;
}
