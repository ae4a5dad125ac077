import type { resourceTiers } from '@svc/contract/limits.ts';
import { platformTenantId } from '../../plumbing/context.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { createTenant } from '../../tenants/create-tenant.ts';
import type { AdminCtx, Result } from '../command.ts';
import { withSystemOrNew } from '../system.ts';

export async function run(
  ctx: AdminCtx,
  input: {
    slug: string;
    name: string | undefined;
    'max-resource-tier': (typeof resourceTiers)[number] | undefined;
  },
): Promise<Result> {
  const { slug, name, 'max-resource-tier': maxResourceTier } = input;
  const tenant = await withSystemOrNew(ctx, (system) =>
    asOperator(system, { name: 'tenants.create', auditTenantId: platformTenantId }, (operator) =>
      createTenant(operator, {
        slug,
        ...(name === undefined ? {} : { name }),
        ...(maxResourceTier === undefined ? {} : { maxResourceTier }),
      }),
    ),
  );
  return { json: { ...tenant }, text: `Created tenant ${tenant.slug} (${tenant.id}).\n` };
}
