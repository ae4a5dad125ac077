import type * as shapes from './access-policies.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const columnModes = ['all', 'allow', 'deny'] as const;
/** `redact` hides the value, `hash` keeps equality, `partial` keeps some characters, `constant` puts a fixed text. */
export const maskKinds = ['redact', 'hash', 'partial', 'constant'] as const;
export const policyNameCharsMax = 100;
export const rowFilterCharsMax = 4000;
export const policyColumnsMax = 200;
export const policyMasksMax = 100;

const admin = { credential: 'login', role: 'tenant_admin', outsider: 'forbidden' } as const;
const adminsOnly = who('O:n C:n A:y M:n P:n N:n X:n');
const collection = '/api/v1/tenants/{tenantID}/access-policies';

export const listPolicies = endpoint<typeof shapes.listPolicies>()({
  id: 'policies.list',
  method: 'GET',
  path: collection,
  summary: "The tenant's row and column access policies",
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
});

export const createPolicy = endpoint<typeof shapes.createPolicy>()({
  id: 'policies.create',
  method: 'POST',
  path: collection,
  summary: 'Define an access policy',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 201,
  errors: ['unique_violation'],
  etag: true,
});

export const getPolicy = endpoint<typeof shapes.getPolicy>()({
  id: 'policies.get',
  method: 'GET',
  path: `${collection}/{policyID}`,
  summary: 'One access policy',
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found'],
  etag: true,
});

export const replacePolicy = endpoint<typeof shapes.replacePolicy>()({
  id: 'policies.replace',
  method: 'PUT',
  path: `${collection}/{policyID}`,
  summary: 'Replace an access policy; absent fields take their defaults',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'unique_violation', 'precondition_failed'],
  etag: true,
});

export const updatePolicy = endpoint<typeof shapes.updatePolicy>()({
  id: 'policies.update',
  method: 'PATCH',
  path: `${collection}/{policyID}`,
  summary: 'Change fields of an access policy',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'unique_violation', 'precondition_failed'],
  etag: true,
});

export const deletePolicy = endpoint<typeof shapes.deletePolicy>()({
  id: 'policies.delete',
  method: 'DELETE',
  path: `${collection}/{policyID}`,
  summary: 'Delete an access policy that no active grant names',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 204,
  errors: ['not_found', 'policy_in_use', 'precondition_failed'],
  etag: true,
});
