import { namePattern } from './columns.ts';
import { admins, anyMember, member, read, remove, replace, update, who } from './endpoint.ts';
import type * as shapes from './tenants.shapes.ts';

export const tenantNameCharsMax = 200;
/** Visibilities of running apps whose new deployments need a review: `internet`, all beyond `private`, or none. */
export const deploymentReviews = ['internet', 'all', 'off'] as const;

/** Limit of the tenant setting for invitations without a review; an app has at most as many members (`appMembersMax`). */
export const inviteOnlyPeopleMax = 1_000;

export const memberAttributesMax = 32;
export const memberAttributeCharsMax = 256;
/** `@me.<name>` of a filter has these meanings already. */
export const memberAttributesReserved: readonly string[] = ['id', 'email', 'roles', 'groups'];

/** The fault of an attribute name, or null. */
export function attributeNameFault(name: string): string | null {
  if (!namePattern.test(name)) return 'must be 1 to 63 of a-z, 0-9 and _, and begin with a letter';
  return memberAttributesReserved.includes(name) ? `is reserved: @me.${name} has another meaning` : null;
}

export const listTenants = read<typeof shapes.listTenants>()({
  id: 'tenants.list',
  path: '/api/v1/tenants',
  summary: 'List your tenants',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
});

export const getTenant = read<typeof shapes.getTenant>()({
  id: 'tenants.get',
  path: '/api/v1/tenants/{tenantID}',
  summary: 'Get a tenant',
  ...anyMember,
});

export const updateTenant = update<typeof shapes.updateTenant>()({
  id: 'tenants.update',
  path: '/api/v1/tenants/{tenantID}',
  summary: 'Update the settings of a tenant',
  ...admins,
});

export const listMembers = read<typeof shapes.listMembers>()({
  id: 'members.list',
  path: '/api/v1/tenants/{tenantID}/members',
  summary: 'List the members of a tenant with their roles',
  ...admins,
});

export const getMember = read<typeof shapes.getMember>()({
  id: 'members.get',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: 'Get a member of a tenant',
  ...admins,
});

export const setMember = replace<typeof shapes.setMember>()({
  id: 'members.set',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: "Add a user to the tenant, or change the member's role",
  ...admins,
  errors: ['last_admin'],
});

export const updateMember = update<typeof shapes.updateMember>()({
  id: 'members.update',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: "Change a member's role or attributes; with a role, also add a user to the tenant",
  ...admins,
  errors: ['last_admin'],
});

export const removeMember = remove<typeof shapes.removeMember>()({
  id: 'members.remove',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: 'Remove a member from the tenant; access ends immediately',
  ...admins,
  errors: ['last_admin'],
});

export const listAuditEntries = read<typeof shapes.listAuditEntries>()({
  id: 'audit.list',
  path: '/api/v1/tenants/{tenantID}/audit',
  summary: 'List the audit log of the tenant, newest first',
  ...admins,
  errors: ['invalid_cursor'],
});

export const listAppAuditEntries = read<typeof shapes.listAppAuditEntries>()({
  id: 'audit.listOfApp',
  path: '/api/v1/tenants/{tenantID}/apps/{app}/audit',
  summary: 'List the audit log of an app, newest first',
  authority: { ...member, app: 'owners_or_admin', deletedApp: 'reached' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  errors: ['invalid_cursor'],
});
