import type { Caller, TenantAccess, TenantMutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { runMutation } from '../plumbing/mutation.ts';
import { findMember } from '../tenants/find-member.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { findUser } from '../users/find-user.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import type { Claim } from './claim-store.ts';
import { ClaimLost, StepRefused } from './step-refused.ts';
import { lockClaimedRun, type Run } from './store.ts';

export interface Creator {
  caller: Caller;
  tenant: TenantAccess;
}

/** Who started the run, if they still may: an active member of its tenant. Nobody else's right counts. */
export async function creatorOf(db: Db, run: Pick<Run, 'tenant_id' | 'created_by'>): Promise<Creator> {
  const member = await findMember(db, run.tenant_id, run.created_by);
  const tenant = await findTenant({ db }, { ref: run.tenant_id });
  const user = await findUser({ db }, { ref: run.created_by });
  if (member?.status !== 'active' || !tenant || !user)
    throw new StepRefused('not_permitted', 'Who started the run is no active member of the tenant any more.');
  const { id, slug, name } = tenant;
  return {
    tenant: { id, slug, name, role: member.role },
    caller: {
      kind: 'login',
      userId: member.userId,
      email: member.email,
      name: user.name,
      credentialId: '',
      expiresAt: new Date(8.64e15),
    },
  };
}

/**
 * One change of a run, with what belongs to it, in one transaction and under its lock: by the one who started it, and
 * only while the claim is ours.
 */
export async function asCreator<T>(
  parts: BootstrapParts,
  claim: Claim,
  { caller, tenant }: Creator,
  verb: (ctx: TenantMutationCtx, run: Run) => Promise<T>,
): Promise<T> {
  let value: { is: T } | undefined;
  await runMutation(
    { ...parts, caller, requestId: claim.runId },
    {
      mode: 'execute',
      operation: { id: 'bootstraps.goOn', irreversible: false },
      auditTenantId: claim.tenantId,
      verb: async (ctx) => {
        const run = await lockClaimedRun(ctx.db, claim);
        if (!run) throw new ClaimLost();
        value = { is: await verb({ ...ctx, tenant }, run) };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!value) throw new Error('A change of a run ended without a value.');
  return value.is;
}
