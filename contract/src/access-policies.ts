import type * as shapes from './access-policies.shapes.ts';
import { accessAdmins, change, read, remove, replace, update } from './endpoint.ts';

export const columnModes = ['all', 'allow', 'deny'] as const;
/**
 * `null` and `constant` show a fixed value, `redact` keeps the form (letters x, digits 0), `hash` keeps equality, `partial` and
 * `email` keep some characters, `round` and `truncate` keep the magnitude.
 */
export const maskKinds = [
  'redact',
  'hash',
  'partial',
  'constant',
  'null',
  'email',
  'round',
  'truncate',
] as const;
export const truncateUnits = ['year', 'month', 'day'] as const;
export const roundToMax = 1e15;
export const policyNameCharsMax = 100;
export const rowFilterCharsMax = 4000;
export const policyColumnsMax = 200;
export const policyMasksMax = 100;

/**
 * `does_not_fit`: names columns or values that the table does not have, so nobody can read it with the policy. `covers_no_table`:
 * no table that is known is below its path. `not_in_use`: not enforced, and no active grant names it.
 */
export const policyWarningCodes = ['does_not_fit', 'covers_no_table', 'not_in_use'] as const;

const collection = '/api/v1/tenants/{tenantID}/access-policies';

export const listPolicies = read<typeof shapes.listPolicies>()({
  id: 'policies.list',
  path: collection,
  summary: "List the tenant's row and column access policies",
  ...accessAdmins,
});

export const listPolicyWarnings = read<typeof shapes.listPolicyWarnings>()({
  id: 'policies.warnings',
  path: '/api/v1/tenants/{tenantID}/policy-warnings',
  summary: 'List enabled policies that block a table they do not fit, cover no table, or limit nothing',
  ...accessAdmins,
});

export const createPolicy = change<typeof shapes.createPolicy>()({
  id: 'policies.create',
  path: collection,
  summary: 'Create an access policy',
  ...accessAdmins,
  errors: ['unique_violation'],
  etag: true,
});

export const getPolicy = read<typeof shapes.getPolicy>()({
  id: 'policies.get',
  path: `${collection}/{policyID}`,
  summary: 'Get an access policy',
  ...accessAdmins,
  etag: true,
});

export const replacePolicy = replace<typeof shapes.replacePolicy>()({
  id: 'policies.replace',
  path: `${collection}/{policyID}`,
  summary: 'Replace an access policy; absent fields get their defaults',
  ...accessAdmins,
  errors: ['unique_violation', 'precondition_failed'],
  etag: true,
});

export const updatePolicy = update<typeof shapes.updatePolicy>()({
  id: 'policies.update',
  path: `${collection}/{policyID}`,
  summary: 'Update an access policy',
  ...accessAdmins,
  errors: ['unique_violation', 'precondition_failed'],
  etag: true,
});

export const deletePolicy = remove<typeof shapes.deletePolicy>()({
  id: 'policies.delete',
  path: `${collection}/{policyID}`,
  summary: 'Delete an access policy that no active grant uses',
  ...accessAdmins,
  errors: ['policy_in_use', 'precondition_failed'],
  etag: true,
});
