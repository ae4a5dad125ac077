import * as shapes from '@svc/contract/tenants.shapes.ts';
import * as endpoints from '@svc/contract/tenants.ts';
import { ownRead, type Route, tenantChange, tenantRead } from '../plumbing/route.ts';
import { getTenant } from './get-tenant.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listMembers } from './list-members.ts';
import { listOwnTenants } from './list-own-tenants.ts';
import { setMemberAsAdmin } from './set-member-as-admin.ts';

export const tenantRoutes: Route[] = [
  ownRead(endpoints.listTenants, shapes.listTenants, (ctx) => listOwnTenants(ctx)),
  tenantRead(endpoints.getTenant, shapes.getTenant, (ctx) => getTenant(ctx)),
  tenantRead(endpoints.listMembers, shapes.listMembers, (ctx, { query }) => listMembers(ctx, query)),
  tenantChange(endpoints.setMember, shapes.setMember, (ctx, { params, body }) =>
    setMemberAsAdmin(ctx, { userId: params.userID, role: body.role }),
  ),
  tenantChange(endpoints.removeMember, shapes.removeMember, async (ctx, { params }) => {
    await setMemberAsAdmin(ctx, { userId: params.userID, role: 'none' });
    return undefined;
  }),
  tenantRead(endpoints.listAuditEntries, shapes.listAuditEntries, (ctx, { query }) =>
    listAuditEntries(ctx, query),
  ),
];
