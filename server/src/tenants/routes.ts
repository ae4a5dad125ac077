import * as shapes from '@svc/contract/tenants.shapes.ts';
import * as endpoints from '@svc/contract/tenants.ts';
import { pageOf } from '../plumbing/paging.ts';
import { type Route, route } from '../plumbing/route.ts';
import { getTenant } from './get-tenant.ts';
import { listAppAuditEntries } from './list-app-audit-entries.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listMembers } from './list-members.ts';
import { listOwnTenants } from './list-own-tenants.ts';
import { setMemberAsAdmin } from './set-member-as-admin.ts';
import { updateTenant } from './update-tenant.ts';

export const tenantRoutes: Route[] = [
  route(endpoints.listTenants, shapes.listTenants, async (ctx, { query }) =>
    pageOf(query, await listOwnTenants(ctx)),
  ),
  route(endpoints.getTenant, shapes.getTenant, (ctx) => getTenant(ctx)),
  route(endpoints.updateTenant, shapes.updateTenant, async (ctx, { body }) => {
    const { name, max_resource_tier: maxResourceTier } = body;
    const updated = await updateTenant(ctx, {
      tenantId: ctx.tenant.id,
      ...(name === undefined ? {} : { name }),
      ...(maxResourceTier === undefined ? {} : { maxResourceTier }),
    });
    return { ...updated, role: ctx.tenant.role };
  }),
  route(endpoints.listMembers, shapes.listMembers, (ctx, { query }) => listMembers(ctx, query)),
  route(endpoints.setMember, shapes.setMember, (ctx, { params, body }) =>
    setMemberAsAdmin(ctx, { userId: params.userID, role: body.role }),
  ),
  route(endpoints.removeMember, shapes.removeMember, async (ctx, { params }) => {
    await setMemberAsAdmin(ctx, { userId: params.userID, role: 'none' });
    return undefined;
  }),
  route(endpoints.listAuditEntries, shapes.listAuditEntries, (ctx, { query }) =>
    listAuditEntries(ctx, query),
  ),
  route(endpoints.listAppAuditEntries, shapes.listAppAuditEntries, (ctx, { query }) =>
    listAppAuditEntries(ctx, query),
  ),
];
