import { platformTenantId } from '../../plumbing/context.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { suspendUser } from '../../users/suspend-user.ts';
import type { AdminCtx, Result } from '../command.ts';
import { findUserOrFail } from '../find-or-fail.ts';
import { withSystem } from '../system.ts';

export async function run(ctx: AdminCtx, input: { user: string }): Promise<Result> {
  const user = await withSystem(ctx, async (system) => {
    const { id } = await findUserOrFail(system, input.user);
    return await asOperator(system, { name: 'users.suspend', auditTenantId: platformTenantId }, (operator) =>
      suspendUser(operator, { userId: id }),
    );
  });
  return { json: { ...user }, text: `${user.email} is suspended; all sign-ins have ended.\n` };
}
