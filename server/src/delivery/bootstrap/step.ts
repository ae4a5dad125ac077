import type { Caller, TenantAccess, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { runMutation } from '../../core/mutation.ts';
import { findMember } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { findUser } from '../../people/users/users.ts';
import type { BootstrapDeps, FailureCode } from './rules.ts';
import { type Claim, lockClaimedRun, type Run } from './store.ts';

export interface StepWork {
  deps: BootstrapDeps;
  run: Run;
  creator: Creator;
  signal: AbortSignal;
}

export type StepEnd =
  | { state: 'done'; output: Record<string, unknown>; detail: string }
  | { state: 'running'; output: Record<string, unknown>; detail: string; againAfterSeconds: number };

/** Acts outside, which must be safe to repeat. The returned function changes the database with the step's result. */
export type Step = (work: StepWork) => Promise<(ctx: TenantMutationCtx) => Promise<StepEnd>>;

export class StepError extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message);
    this.name = 'StepError';
  }
}

export class ClaimLost extends Error {
  constructor() {
    super('The lease of the run was lost.');
    this.name = 'ClaimLost';
  }
}

interface Creator {
  caller: Caller;
  tenant: TenantAccess;
}

export async function loadCreator(db: Db, run: Pick<Run, 'tenant_id' | 'created_by'>): Promise<Creator> {
  const member = await findMember(db, run.tenant_id, run.created_by);
  const tenant = await findTenant({ db }, { ref: run.tenant_id });
  const user = await findUser({ db }, { ref: run.created_by });
  if (member?.status !== 'active' || !tenant || !user)
    throw new StepError(
      'not_permitted',
      'The user who started the run is no longer an active member of the tenant.',
    );
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

/** In one transaction, as the creator, under the run's row lock and only while the lease is held. */
export async function runAsCreator<T>(
  deps: BootstrapDeps,
  claim: Claim,
  { caller, tenant }: Creator,
  useCase: (ctx: TenantMutationCtx, run: Run) => Promise<T>,
): Promise<T> {
  let value: { is: T } | undefined;
  await runMutation(
    { ...deps, caller, requestId: claim.runId },
    {
      mode: 'execute',
      operation: { id: 'bootstraps.work', irreversible: false },
      auditTenantId: claim.tenantId,
      useCase: async (ctx) => {
        const run = await lockClaimedRun(ctx.db, claim);
        if (!run) throw new ClaimLost();
        value = { is: await useCase({ ...ctx, tenant }, run) };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!value) throw new Error('The change of the run returned no value.');
  return value.is;
}
