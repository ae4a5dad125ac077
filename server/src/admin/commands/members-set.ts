import type { tenantRoles } from '@svc/contract/identity.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { setMember } from '../../tenants/set-member.ts';
import type { AdminCtx, Result } from '../command.ts';
import { findTenantOrFail, findUserOrFail } from '../find-or-fail.ts';
import { withSystem } from '../system.ts';

export async function run(
  ctx: AdminCtx,
  input: { tenant: string; user: string; role: (typeof tenantRoles)[number] | 'none' },
): Promise<Result> {
  const { tenant, user } = await withSystem(ctx, async (system) => {
    const found = {
      tenant: await findTenantOrFail(system, input.tenant),
      user: await findUserOrFail(system, input.user),
    };
    await asOperator(system, { name: 'members.set', auditTenantId: found.tenant.id }, (operator) =>
      setMember(operator, { tenantId: found.tenant.id, userId: found.user.id, role: input.role }),
    );
    return found;
  });
  const said = input.role === 'none' ? `is not in ${tenant.slug}` : `is ${input.role} of ${tenant.slug}`;
  return {
    json: { tenant_id: tenant.id, user_id: user.id, role: input.role },
    text: `${user.email} ${said}.\n`,
  };
}
