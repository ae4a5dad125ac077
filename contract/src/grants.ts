import { accessAdmins, act, change, read, replace, who } from './endpoint.ts';
import type * as shapes from './grants.shapes.ts';

export const grantStatuses = ['active', 'revoked', 'expired'] as const;
/** `app`: an app's own identity, not its visitors. */
export const subjectKinds = ['user', 'group', 'app', 'service_account'] as const;
export const grantSources = ['manual', 'request', 'api', 'bootstrap'] as const;

/** `subject_not_active`: a suspended or deactivated person, or a program of an app that is suspended or archived. */
export const accessReasons = [
  'granted',
  'no_active_grant',
  'action_not_in_preset',
  'out_of_scope',
  'subject_not_active',
] as const;

export const scopeEntriesMax = 200;
export const policiesPerGrantMax = 50;
export const reasonCharsMax = 1000;

/** `schema` or `schema/table`, without patterns and `..`. */
export const resourcePathPattern =
  /^(?!\.{1,2}(?:\/|$))[^\s/*\p{Cc}]{1,128}(?:\/(?!\.{1,2}$)[^\s/*\p{Cc}]{1,128})?$/u;

export type GrantStatus = (typeof grantStatuses)[number];

export const grantStates = {
  replaceScope: ['active'],
  revoke: ['active'],
} as const satisfies Record<string, readonly GrantStatus[]>;

export const listMyGrants = read<typeof shapes.listMyGrants>()({
  id: 'grants.mine',
  path: '/api/v1/tenants/{tenantID}/me/grants',
  summary: 'List your active grants, newest first',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'forbidden' },
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
});

export const getMyGrantTerms = read<typeof shapes.getMyGrantTerms>()({
  id: 'grants.terms',
  path: '/api/v1/tenants/{tenantID}/me/grants/terms',
  summary: 'List the connectors, presets, groups, people and tables that your active grants name',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'forbidden' },
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
});

export const listMyTables = read<typeof shapes.listMyTables>()({
  id: 'grants.tables',
  path: '/api/v1/tenants/{tenantID}/me/tables',
  summary: 'List the tables that your active grants open, with what you may do and what is masked',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'forbidden' },
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
});

export const listGrants = read<typeof shapes.listGrants>()({
  id: 'grants.list',
  path: '/api/v1/tenants/{tenantID}/grants',
  summary: "List the tenant's grants, newest first",
  ...accessAdmins,
});

export const createGrant = change<typeof shapes.createGrant>()({
  id: 'grants.create',
  path: '/api/v1/tenants/{tenantID}/grants',
  summary: 'Grant a subject the use of a connector with a preset, within a scope',
  ...accessAdmins,
});

export const getGrant = read<typeof shapes.getGrant>()({
  id: 'grants.get',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}',
  summary: 'Get a grant',
  ...accessAdmins,
});

export const replaceGrantScope = replace<typeof shapes.replaceGrantScope>()({
  id: 'grants.replaceScope',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}/scope',
  summary: 'Replace the scope of a grant; an empty list means the whole connector',
  ...accessAdmins,
  errors: ['grant_not_active'],
});

export const revokeGrant = act<typeof shapes.revokeGrant>()({
  id: 'grants.revoke',
  path: '/api/v1/tenants/{tenantID}/grants/{grantID}/revoke',
  summary: 'Revoke a grant permanently',
  ...accessAdmins,
  errors: ['grant_not_active'],
  irreversible: true,
});

export const checkAccess = read<typeof shapes.checkAccess>()({
  id: 'access.check',
  method: 'POST',
  path: '/api/v1/tenants/{tenantID}/access/check',
  summary:
    'Check whether a subject may perform an action through a connector, and by which grants and policies',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'forbidden' },
  who: who('O:own C:own A:y M:own P:n N:n X:n'),
  errors: ['forbidden'],
});
