import * as shapes from '@svc/contract/tenants.shapes.ts';
import * as endpoints from '@svc/contract/tenants.ts';
import { paginate } from '../../core/paging.ts';
import { type Route, routes } from '../../http/router.ts';
import { listAuditEntries } from './audit-log.ts';
import { getMember, updateMember } from './member-attributes.ts';
import { listMembers, setMemberAsAdmin } from './members.ts';
import { getTenant, listOwnTenants, updateTenant } from './tenants.ts';

export const tenantRoutes: Route[] = routes(endpoints, shapes, {
  listTenants: async (ctx, { query }) => paginate(query, await listOwnTenants(ctx)),
  getTenant,
  updateTenant: async (ctx, { body }) => {
    const updated = await updateTenant(ctx, {
      tenantId: ctx.tenant.id,
      name: body.name,
      maxResourceTier: body.max_resource_tier,
      reviewDeployments: body.review_deployments,
      inviteOnlyPeopleMax: body.invite_only_people_max,
      accessRequests: body.access_requests,
      requireSecondFactor: body.require_second_factor,
    });
    return { ...updated, role: ctx.tenant.role };
  },
  listMembers: (ctx, { query }) => listMembers(ctx, query),
  getMember: (ctx, { params }) => getMember(ctx, { ref: params.userID }),
  updateMember: (ctx, { params, body }) => updateMember(ctx, { ref: params.userID, ...body }),
  setMember: (ctx, { params, body }) => setMemberAsAdmin(ctx, { userId: params.userID, role: body.role }),
  removeMember: async (ctx, { params }) => {
    await setMemberAsAdmin(ctx, { userId: params.userID, role: 'none' });
    return undefined;
  },
  listAuditEntries: (ctx, { query }) => listAuditEntries(ctx, query),
  listAppAuditEntries: (ctx, { query }) => listAuditEntries(ctx, query, ctx.app.id),
});
