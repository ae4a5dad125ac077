import type { Me } from '@svc/contract/identity.shapes.ts';
import type { z } from 'zod';
import type { Ctx } from '../plumbing/context.ts';
import { listOwnTenants } from '../tenants/list-own-tenants.ts';

export async function getMe(ctx: Ctx): Promise<z.output<typeof Me>> {
  const { userId, email, name, kind, expiresAt } = ctx.caller;
  const tenants = await listOwnTenants(ctx);
  return {
    id: userId,
    email,
    name,
    // No one else gets this far.
    status: 'active',
    credential: { kind: kind === 'session' ? 'session' : 'login', expires_at: expiresAt.toISOString() },
    tenants: tenants.map(({ id, slug, name, role }) => ({ id, slug, name, role })),
  };
}
