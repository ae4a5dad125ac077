import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { validationError } from '../../core/problem.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { type ConnectorRow, removeOwner } from './store.ts';

export type AccessSettings = Pick<ConnectorRow, 'owners' | 'max_duration_seconds' | 'auto_approve'>;

export const defaultAccessSettings: AccessSettings = {
  owners: [],
  max_duration_seconds: 0,
  auto_approve: false,
};

export const accessSettingsOf = ({
  owners,
  max_duration_seconds,
  auto_approve,
}: AccessSettings): AccessSettings => ({
  owners,
  max_duration_seconds,
  auto_approve,
});

export async function changeAccessSettings(
  ctx: TenantMutationCtx,
  before: AccessSettings,
  set: { [K in keyof AccessSettings]?: AccessSettings[K] | undefined },
): Promise<AccessSettings> {
  const after: AccessSettings = {
    owners: set.owners ? await findOwners(ctx, set.owners) : before.owners,
    max_duration_seconds: set.max_duration_seconds ?? before.max_duration_seconds,
    auto_approve: set.auto_approve ?? before.auto_approve,
  };
  if (after.auto_approve && after.max_duration_seconds === 0)
    throw validationError('auto_approve', 'needs a longest time (max_duration_seconds)');
  if (after.auto_approve && !before.auto_approve)
    ctx.warn(
      'Every member of the tenant can give themselves access to this connector, with every preset. Only enforced policies narrow it.',
    );
  return after;
}

async function findOwners(ctx: TenantMutationCtx, refs: readonly string[]): Promise<string[]> {
  const ids = new Set<string>();
  for (const [index, ref] of refs.entries()) {
    const member = await lockMemberForShare(ctx.db, ctx.tenant.id, ref);
    if (!member || member.status === 'deactivated')
      throw validationError(`owners.${index}`, 'is not a member of this tenant');
    ids.add(member.userId);
  }
  return [...ids].sort();
}

/** Admins decide requests for every connector, its owners those for their own. */
export function canDecideFor({ tenant, caller }: TenantCtx, { owners }: Pick<ConnectorRow, 'owners'>) {
  return tenant.role === 'tenant_admin' || owners.includes(caller.userId);
}

export async function endConnectorOwnership(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string } },
): Promise<void> {
  for (const { id, slug, owners } of await removeOwner(ctx.db, { tenantId, userId: user.id }))
    ctx.audit({
      action: 'connectors.update',
      target: { kind: 'connector', id, name: slug },
      before: { owners: [...owners, user.id].sort() },
      after: { owners },
    });
}
