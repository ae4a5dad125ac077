import * as groupsShapes from '@svc/contract/groups.shapes.ts';
import * as groupsEndpoints from '@svc/contract/groups.ts';
import * as identityShapes from '@svc/contract/identity.shapes.ts';
import * as identityEndpoints from '@svc/contract/identity.ts';
import * as tenantsShapes from '@svc/contract/tenants.shapes.ts';
import * as tenantsEndpoints from '@svc/contract/tenants.ts';
import type { z } from 'zod';
import { createTaggedCache } from '../core/cache.ts';
import type { Ctx } from '../core/context.ts';
import { paginate } from '../core/paging.ts';
import { under } from '../http/front.ts';
import type { Deps, Module } from '../http/module.ts';
import { type Route, routes } from '../http/router.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups/groups.ts';
import {
  addGroupMember,
  leaveUnmanagedGroups,
  listGroupMembers,
  removeGroupMember,
} from './groups/members.ts';
import { onPerson } from './person-events.ts';
import { createScimHandler, scimPrefix } from './scim/handler.ts';
import { getMember, updateMember } from './tenants/member-attributes.ts';
import { listMembers, setMemberAsAdmin } from './tenants/members.ts';
import {
  createTenantAccess,
  getTenant,
  listAuditEntries,
  listOwnTenants,
  updateTenant,
} from './tenants/tenants.ts';

async function getMe(ctx: Ctx): Promise<z.output<typeof identityShapes.Me>> {
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

export const meRoutes: Route[] = routes(identityEndpoints, identityShapes, { getMe });

export const tenantRoutes: Route[] = routes(tenantsEndpoints, tenantsShapes, {
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

const groupRoutes: Route[] = routes(groupsEndpoints, groupsShapes, {
  listGroups: (ctx, { query }) => listGroups(ctx, query),
  createGroup: (ctx, { body }) => createGroup(ctx, body),
  getGroup: (ctx, { params: { group } }) => getGroup(ctx, { group }),
  updateGroup: (ctx, { params: { group }, body }) => updateGroup(ctx, { group, set: body }),
  deleteGroup: (ctx, { params: { group } }) => deleteGroup(ctx, { group }),
  listGroupMembers: (ctx, { params: { group }, query }) => listGroupMembers(ctx, { group, query }),
  addGroupMember: (ctx, { params: { group }, body }) => addGroupMember(ctx, { group, user: body.user_id }),
  removeGroupMember: (ctx, { params: { group, userID } }) => removeGroupMember(ctx, { group, user: userID }),
});

export interface PeopleServices {
  tenantAccess: ReturnType<typeof createTenantAccess>;
}

export const people: Module = {
  name: 'people',
  open: ({ db, invalidation }: Deps): PeopleServices => ({
    tenantAccess: createTenantAccess({ db, cache: createTaggedCache(invalidation, { entriesMax: 10_000 }) }),
  }),
  routes: () => [...meRoutes, ...tenantRoutes, ...groupRoutes],
  handlers: (deps) => [{ matches: under(scimPrefix), limit: 'own', handle: createScimHandler(deps) }],
  subscriptions: () => [onPerson({ deactivated: leaveUnmanagedGroups })],
};
