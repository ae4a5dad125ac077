import { endpoint, who } from './endpoint.ts';
import type * as shapes from './tenants.shapes.ts';

export const tenantNameCharsMax = 200;

const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const admin = { credential: 'login', role: 'tenant_admin', outsider: 'not_found' } as const;
const governedApp = { ...member, app: 'owners_or_admin', deletedApp: 'reached' } as const;

export const listTenants = endpoint<typeof shapes.listTenants>()({
  id: 'tenants.list',
  method: 'GET',
  path: '/api/v1/tenants',
  summary: 'The tenants the caller is a member of',
  kind: 'read',
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
  status: 200,
});

export const getTenant = endpoint<typeof shapes.getTenant>()({
  id: 'tenants.get',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}',
  summary: 'One tenant, as its members see it',
  kind: 'read',
  authority: member,
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 200,
});

export const updateTenant = endpoint<typeof shapes.updateTenant>()({
  id: 'tenants.update',
  method: 'PATCH',
  path: '/api/v1/tenants/{tenantID}',
  summary: 'Change the name of a tenant, or the largest tier its apps may have',
  kind: 'mutate',
  authority: admin,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
});

export const listMembers = endpoint<typeof shapes.listMembers>()({
  id: 'members.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/members',
  summary: 'The members of a tenant with their roles',
  kind: 'read',
  authority: admin,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
});

export const setMember = endpoint<typeof shapes.setMember>()({
  id: 'members.set',
  method: 'PUT',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: "Add a user to the tenant, or change the member's role",
  kind: 'mutate',
  authority: admin,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'last_admin'],
});

export const removeMember = endpoint<typeof shapes.removeMember>()({
  id: 'members.remove',
  method: 'DELETE',
  path: '/api/v1/tenants/{tenantID}/members/{userID}',
  summary: 'Remove a member from the tenant; their access ends at once',
  kind: 'mutate',
  authority: admin,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 204,
  errors: ['not_found', 'last_admin'],
});

export const listAuditEntries = endpoint<typeof shapes.listAuditEntries>()({
  id: 'audit.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/audit',
  summary: 'What was changed in the tenant, newest first',
  kind: 'read',
  authority: admin,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['invalid_cursor'],
});

/** What is told of an app's own things; what admins do elsewhere in the tenant is for admins. */
export const listAppAuditEntries = endpoint<typeof shapes.listAppAuditEntries>()({
  id: 'audit.listOfApp',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/apps/{app}/audit',
  summary: 'What was changed of an app, newest first',
  kind: 'read',
  authority: governedApp,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'invalid_cursor'],
});
