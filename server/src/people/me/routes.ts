import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import type { z } from 'zod';
import type { Ctx } from '../../core/context.ts';
import { type Route, routes } from '../../http/router.ts';
import { listOwnTenants } from '../tenants/tenants.ts';

async function getMe(ctx: Ctx): Promise<z.output<typeof shapes.Me>> {
  const { userId, email, name, kind, expiresAt } = ctx.caller;
  const tenants = await listOwnTenants(ctx);
  return {
    id: userId,
    email,
    name,
    status: 'active',
    credential: { kind: kind === 'session' ? 'session' : 'login', expires_at: expiresAt.toISOString() },
    tenants: tenants.map(({ id, slug, name, role }) => ({ id, slug, name, role })),
  };
}

export const meRoutes: Route[] = routes(endpoints, shapes, { getMe });
