import type { Ctx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { findUser } from '../users/find-user.ts';
import { printable } from './table.ts';

export async function findUserOrFail(ctx: Pick<Ctx, 'db'>, ref: string) {
  const user = await findUser(ctx, { ref });
  if (!user) throw fail('not_found', { detail: `There is no user ${printable(ref)}.` });
  return user;
}

export async function findTenantOrFail(ctx: Pick<Ctx, 'db'>, ref: string) {
  const tenant = await findTenant(ctx, { ref });
  if (!tenant) throw fail('not_found', { detail: `There is no tenant ${printable(ref)}.` });
  return tenant;
}
