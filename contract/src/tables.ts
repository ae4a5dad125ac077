import { endpoint, who } from './endpoint.ts';
import type * as shapes from './tables.shapes.ts';

export const tableActions = ['read', 'write'] as const;
export const principalTypes = ['user', 'app', 'role'] as const;

/** What shapes an app's tables is for its owners, logged in; a tenant admin governs, but reads no rows. */
const owners = {
  credential: 'login',
  role: 'tenant_member',
  outsider: 'not_found',
  app: 'owners',
} as const;
const ownersOnly = who('O:y C:y A:n M:n P:n N:n X:n');
const collection = '/api/v1/tenants/{tenantID}/apps/{app}/tables';
const one = `${collection}/{table}`;
const shared = { authority: owners, who: ownersOnly } as const;
/** Of whatever changes a table that is there. */
const shapeErrors = ['not_found', 'table_busy', 'app_not_active'] as const;

export const listTables = endpoint<typeof shapes.listTables>()({
  id: 'tables.list',
  method: 'GET',
  path: collection,
  summary: "The app's tables",
  kind: 'read',
  ...shared,
  status: 200,
  errors: ['not_found'],
});

export const createTable = endpoint<typeof shapes.createTable>()({
  id: 'tables.create',
  method: 'POST',
  path: collection,
  summary: 'Create a table',
  kind: 'mutate',
  ...shared,
  status: 201,
  errors: ['not_found', 'unique_violation', 'limit_reached', 'app_not_active'],
});

export const getTable = endpoint<typeof shapes.getTable>()({
  id: 'tables.get',
  method: 'GET',
  path: one,
  summary: 'One table with its columns',
  kind: 'read',
  ...shared,
  status: 200,
  errors: ['not_found'],
});

export const updateTable = endpoint<typeof shapes.updateTable>()({
  id: 'tables.update',
  method: 'PATCH',
  path: one,
  summary: 'Rename a table or change its description',
  kind: 'mutate',
  ...shared,
  status: 200,
  errors: [...shapeErrors, 'unique_violation'],
});

export const dropTable = endpoint<typeof shapes.dropTable>()({
  id: 'tables.drop',
  method: 'DELETE',
  path: one,
  summary: 'Drop a table with all its rows',
  kind: 'mutate',
  ...shared,
  status: 204,
  errors: shapeErrors,
  irreversible: true,
});

export const addColumn = endpoint<typeof shapes.addColumn>()({
  id: 'columns.add',
  method: 'POST',
  path: `${one}/columns`,
  summary: 'Add a column',
  kind: 'mutate',
  ...shared,
  status: 201,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached', 'not_null_violation'],
});

export const updateColumn = endpoint<typeof shapes.updateColumn>()({
  id: 'columns.update',
  method: 'PATCH',
  path: `${one}/columns/{column}`,
  summary: 'Rename a column, or change whether it may be null, or its default',
  kind: 'mutate',
  ...shared,
  status: 200,
  errors: [...shapeErrors, 'unique_violation', 'not_null_violation', 'immutable_field'],
});

export const dropColumn = endpoint<typeof shapes.dropColumn>()({
  id: 'columns.drop',
  method: 'DELETE',
  path: `${one}/columns/{column}`,
  summary: 'Drop a column with its values',
  kind: 'mutate',
  ...shared,
  status: 204,
  errors: [...shapeErrors, 'column_in_use'],
  irreversible: true,
});

export const listIndexes = endpoint<typeof shapes.listIndexes>()({
  id: 'indexes.list',
  method: 'GET',
  path: `${one}/indexes`,
  summary: 'Indexes and unique constraints of a table',
  kind: 'read',
  ...shared,
  status: 200,
  errors: ['not_found'],
});

export const addIndex = endpoint<typeof shapes.addIndex>()({
  id: 'indexes.add',
  method: 'POST',
  path: `${one}/indexes`,
  summary: 'Add an index or a unique constraint',
  kind: 'mutate',
  ...shared,
  status: 201,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached'],
});

export const dropIndex = endpoint<typeof shapes.dropIndex>()({
  id: 'indexes.drop',
  method: 'DELETE',
  path: `${one}/indexes/{index}`,
  summary: 'Drop an index or a unique constraint',
  kind: 'mutate',
  ...shared,
  status: 204,
  errors: shapeErrors,
});

export const listTableGrants = endpoint<typeof shapes.listTableGrants>()({
  id: 'tableGrants.list',
  method: 'GET',
  path: `${one}/grants`,
  summary: 'Who beside the app may reach a table',
  kind: 'read',
  ...shared,
  status: 200,
  errors: ['not_found'],
});

export const issueTableGrant = endpoint<typeof shapes.issueTableGrant>()({
  id: 'tableGrants.issue',
  method: 'POST',
  path: `${one}/grants`,
  summary: 'Let a user, an app or a role reach a table',
  kind: 'mutate',
  ...shared,
  status: 201,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached'],
});

/** An admin may end what should not have been granted, without being able to grant or read. */
export const revokeTableGrant = endpoint<typeof shapes.revokeTableGrant>()({
  id: 'tableGrants.revoke',
  method: 'DELETE',
  path: `${one}/grants/{grantID}`,
  summary: 'End a table grant at once',
  kind: 'mutate',
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 204,
  errors: ['not_found'],
});
