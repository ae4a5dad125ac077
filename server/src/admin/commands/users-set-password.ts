import { platformTenantId } from '../../plumbing/context.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { setPassword } from '../../users/set-password.ts';
import { type AdminCtx, type Result, UsageError } from '../command.ts';
import { findUserOrFail } from '../find-or-fail.ts';
import { readPassword } from '../read-password.ts';
import { withSystem } from '../system.ts';

export async function run(
  ctx: AdminCtx,
  input: { user: string; 'password-stdin': boolean },
): Promise<Result> {
  if (!input['password-stdin'])
    throw new UsageError('--password-stdin is missing.', 'A password comes in by it only.');
  const password = await readPassword(ctx);
  const { id, email } = await withSystem(ctx, async (system) => {
    const user = await findUserOrFail(system, input.user);
    await asOperator(system, { name: 'users.set-password', auditTenantId: platformTenantId }, (operator) =>
      setPassword(operator, { userId: user.id, password }),
    );
    return user;
  });
  return { json: { id, email }, text: `${email} has a new password; all sign-ins have ended.\n` };
}
