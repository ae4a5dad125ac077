import { platformTenantId } from '../../plumbing/context.ts';
import { asOperator } from '../../plumbing/operator.ts';
import { createUser } from '../../users/create-user.ts';
import type { AdminCtx, Result } from '../command.ts';
import { readPassword } from '../read-password.ts';
import { withSystemOrNew } from '../system.ts';

export async function run(
  ctx: AdminCtx,
  input: { email: string; name: string | undefined; 'password-stdin': boolean },
): Promise<Result> {
  const { email, name } = input;
  const password = input['password-stdin'] ? await readPassword(ctx) : undefined;
  const user = await withSystemOrNew(ctx, (system) =>
    asOperator(system, { name: 'users.create', auditTenantId: platformTenantId }, (operator) =>
      createUser(operator, {
        email,
        ...(name === undefined ? {} : { name }),
        ...(password === undefined ? {} : { password }),
      }),
    ),
  );
  return { json: { ...user }, text: `Created user ${user.email} (${user.id}).\n` };
}
