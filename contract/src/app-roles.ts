import type * as shapes from './app-roles.shapes.ts';
import { change, owners, ownersOrAdmin, read, remove } from './endpoint.ts';

export const appRolesMax = 10_000;

const collection = '/api/v1/tenants/{tenantID}/apps/{app}/roles';

export const listAppRoles = read<typeof shapes.listAppRoles>()({
  id: 'appRoles.list',
  path: collection,
  summary: 'List the people who have roles of the app, which the rules of its tables refer to',
  ...ownersOrAdmin,
});

export const setAppRole = change<typeof shapes.setAppRole>()({
  id: 'appRoles.set',
  path: collection,
  summary: 'Give a member of the tenant a role of the app',
  ...owners,
  errors: ['limit_reached'],
});

export const removeAppRole = remove<typeof shapes.removeAppRole>()({
  id: 'appRoles.remove',
  path: `${collection}/{role}/people/{userID}`,
  summary: 'Take a role of the app from a person; takes effect immediately',
  ...ownersOrAdmin,
});
