import type { resourceTiers } from '@svc/contract/limits.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { updateTenant } from '../../tenants/update-tenant.ts';
import type { AdminCtx, Result } from '../command.ts';
import { findTenantOrFail } from '../find-or-fail.ts';
import { withSystem } from '../system.ts';

export async function run(
  ctx: AdminCtx,
  input: {
    tenant: string;
    name: string | undefined;
    'max-resource-tier': (typeof resourceTiers)[number] | undefined;
  },
): Promise<Result> {
  const { name, 'max-resource-tier': maxResourceTier } = input;
  const tenant = await withSystem(ctx, async (system) => {
    const { id } = await findTenantOrFail(system, input.tenant);
    return asOperator(system, { name: 'tenants.update', auditTenantId: id }, (operator) =>
      updateTenant(operator, {
        tenantId: id,
        ...(name === undefined ? {} : { name }),
        ...(maxResourceTier === undefined ? {} : { maxResourceTier }),
      }),
    );
  });
  return {
    json: { ...tenant },
    text: `${tenant.slug} is called ${tenant.name}; its apps have tiers up to ${tenant.max_resource_tier}.\n`,
  };
}
