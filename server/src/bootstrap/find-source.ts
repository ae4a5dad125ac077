import { findApp } from '../apps/find-app.ts';
import { findAppById } from '../apps/find-app-by-id.ts';
import type { AppAccess, TenantAccess, TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { findTenant } from '../tenants/find-tenant.ts';

export interface Source {
  tenant: TenantAccess;
  app: AppAccess;
}

/**
 * The app to be forked, as somebody sees it who does not govern: to be an admin gives nobody an app's code. By slug it
 * is one of this tenant; by id also one of another that the caller is a member of.
 */
export async function findSource(ctx: TenantCtx, { ref }: { ref: string }): Promise<Source> {
  const tenant = await tenantOf(ctx, ref);
  const app = tenant && (await findApp(ctx.db, tenant, { ref, caller: ctx.caller }));
  if (!app) throw fail('not_found', { detail: 'There is no such app to fork.' });
  return { tenant, app };
}

async function tenantOf(ctx: TenantCtx, ref: string): Promise<TenantAccess | null> {
  const app = await findAppById(ctx, { id: ref });
  if (!app || app.tenantId === ctx.tenant.id) return { ...ctx.tenant, role: 'tenant_member' };
  const member = await findMember(ctx.db, app.tenantId, ctx.caller.userId);
  const tenant = member?.status === 'active' ? await findTenant(ctx, { ref: app.tenantId }) : null;
  return tenant && { id: tenant.id, slug: tenant.slug, name: tenant.name, role: 'tenant_member' };
}
