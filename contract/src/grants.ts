import { endpoint, who } from './endpoint.ts';
import type * as shapes from './grants.shapes.ts';

export const grantStatuses = ['active', 'revoked', 'expired'] as const;
/** `user` is the only kind that can be granted to today; the others are reserved words. */
export const subjectKinds = ['user', 'group', 'app', 'service_account'] as const;
export const grantSources = ['manual', 'request', 'api', 'bootstrap'] as const;

export const scopeEntriesMax = 200;
export const policiesPerGrantMax = 50;
export const reasonCharsMax = 1000;

/** `schema` or `schema/table`. Nothing that could be taken for a pattern or a way up: it would match nothing. */
export const resourcePathPattern =
  /^(?!\.{1,2}(?:\/|$))[^\s/*\p{Cc}]{1,128}(?:\/(?!\.{1,2}$)[^\s/*\p{Cc}]{1,128})?$/u;

export type GrantStatus = (typeof grantStatuses)[number];

/** In which states of a grant a move is allowed. */
export const grantStates = {
  replaceScope: ['active'],
  revoke: ['active'],
} as const satisfies Record<string, readonly GrantStatus[]>;

// The spec lists 401, 403 and 500 for access to grants: an outsider gets the same 403 for any tenant.
const member = { credential: 'login', role: 'tenant_member', outsider: 'forbidden' } as const;
const admin = { credential: 'login', role: 'tenant_admin', outsider: 'forbidden' } as const;
const adminsOnly = who('O:n C:n A:y M:n P:n N:n X:n');

export const listMyGrants = endpoint<typeof shapes.listMyGrants>()({
  id: 'grants.mine',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/me/grants',
  summary: "The caller's own active grants, newest first",
  kind: 'read',
  authority: member,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  status: 200,
});

/** Connectors and presets are for admins to look after; who holds a grant learns what it speaks of. */
export const getMyGrantTerms = endpoint<typeof shapes.getMyGrantTerms>()({
  id: 'grants.terms',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/me/grants/terms',
  summary: "The connectors and presets that the caller's own active grants name",
  kind: 'read',
  authority: member,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  status: 200,
});

export const listGrants = endpoint<typeof shapes.listGrants>()({
  id: 'grants.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/grants',
  summary: "The tenant's grants, newest first",
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
});

export const createGrant = endpoint<typeof shapes.createGrant>()({
  id: 'grants.create',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/grants',
  summary: 'Allow a subject to use a connector with a preset, within a scope',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 201,
});

export const getGrant = endpoint<typeof shapes.getGrant>()({
  id: 'grants.get',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}',
  summary: 'One grant',
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found'],
});

export const replaceGrantScope = endpoint<typeof shapes.replaceGrantScope>()({
  id: 'grants.replaceScope',
  method: 'PUT',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}/scope',
  summary: 'Replace the whole scope of a grant; an empty list restores whole-connector scope',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'grant_not_active'],
});

export const revokeGrant = endpoint<typeof shapes.revokeGrant>()({
  id: 'grants.revoke',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}/revoke',
  summary: 'Revoke a grant for good',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'grant_not_active'],
  irreversible: true,
});

export const checkAccess = endpoint<typeof shapes.checkAccess>()({
  id: 'access.check',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/access/check',
  summary: 'Whether a subject may do an action through a connector, and by which grants and policies',
  kind: 'read',
  authority: member,
  who: who('O:own C:own A:y M:own P:n N:n X:n'),
  status: 200,
  errors: ['forbidden'],
});
