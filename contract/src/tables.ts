import { change, owners, ownersOrAdmin, read, remove, replace, tableOwners, update } from './endpoint.ts';
import type * as shapes from './tables.shapes.ts';

export const tableActions = ['read', 'write'] as const;
export const principalTypes = ['user', 'app', 'role', 'group'] as const;

const collection = '/api/v1/tenants/{tenantID}/apps/{app}/tables';
const one = `${collection}/{table}`;
const shapeErrors = ['table_busy', 'app_not_active'] as const;

export const listTables = read<typeof shapes.listTables>()({
  id: 'tables.list',
  path: collection,
  summary: "List the app's tables",
  ...tableOwners,
});

export const createTable = change<typeof shapes.createTable>()({
  id: 'tables.create',
  path: collection,
  summary: 'Create a table',
  ...tableOwners,
  errors: ['unique_violation', 'limit_reached', 'app_not_active'],
});

export const getTable = read<typeof shapes.getTable>()({
  id: 'tables.get',
  path: one,
  summary: 'Get a table with its columns',
  ...tableOwners,
});

export const updateTable = update<typeof shapes.updateTable>()({
  id: 'tables.update',
  path: one,
  summary: 'Rename a table, or change its description, change feed, history and trash',
  ...tableOwners,
  errors: [...shapeErrors, 'unique_violation', 'table_in_use'],
  irreversible: 'sometimes',
});

export const dropTable = remove<typeof shapes.dropTable>()({
  id: 'tables.drop',
  path: one,
  summary: 'Delete a table with all of its rows',
  ...tableOwners,
  errors: [...shapeErrors, 'table_in_use'],
  irreversible: true,
});

export const addColumn = change<typeof shapes.addColumn>()({
  id: 'columns.add',
  path: `${one}/columns`,
  summary: 'Add a column',
  ...tableOwners,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached', 'not_null_violation'],
});

export const updateColumn = update<typeof shapes.updateColumn>()({
  id: 'columns.update',
  path: `${one}/columns/{column}`,
  summary: 'Rename a column, or change its type, checks, nullability or default',
  ...tableOwners,
  errors: [
    ...shapeErrors,
    'unique_violation',
    'not_null_violation',
    'check_violation',
    'type_change_refused',
    'immutable_field',
    'column_in_use',
  ],
});

export const dropColumn = remove<typeof shapes.dropColumn>()({
  id: 'columns.drop',
  path: `${one}/columns/{column}`,
  summary: 'Delete a column with its values',
  ...tableOwners,
  errors: [...shapeErrors, 'column_in_use'],
  irreversible: true,
});

export const listIndexes = read<typeof shapes.listIndexes>()({
  id: 'indexes.list',
  path: `${one}/indexes`,
  summary: 'List the indexes and unique constraints of a table',
  ...tableOwners,
});

export const addIndex = change<typeof shapes.addIndex>()({
  id: 'indexes.add',
  path: `${one}/indexes`,
  summary: 'Add an index or a unique constraint',
  ...tableOwners,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached'],
});

export const dropIndex = remove<typeof shapes.dropIndex>()({
  id: 'indexes.drop',
  path: `${one}/indexes/{index}`,
  summary: 'Delete an index or a unique constraint',
  ...tableOwners,
  errors: shapeErrors,
});

export const getTableAccess = read<typeof shapes.getTableAccess>()({
  id: 'tables.getAccess',
  path: `${one}/access`,
  summary: 'Get the rules of a table: who may do what with its rows',
  ...tableOwners,
});

export const setTableAccess = replace<typeof shapes.setTableAccess>()({
  id: 'tables.setAccess',
  path: `${one}/access`,
  summary: 'Set the rules of a table; what is absent stays as it is',
  ...tableOwners,
  errors: shapeErrors,
});

export const listTableGrants = read<typeof shapes.listTableGrants>()({
  id: 'tableGrants.list',
  path: `${one}/grants`,
  summary: 'List the grants of a table',
  ...owners,
});

export const issueTableGrant = change<typeof shapes.issueTableGrant>()({
  id: 'tableGrants.issue',
  path: `${one}/grants`,
  summary: 'Grant a user, app or role access to a table',
  ...owners,
  errors: [...shapeErrors, 'unique_violation', 'limit_reached'],
});

/** An admin may revoke a grant, but neither grant nor read. */
export const revokeTableGrant = remove<typeof shapes.revokeTableGrant>()({
  id: 'tableGrants.revoke',
  path: `${one}/grants/{grantID}`,
  summary: 'Revoke a table grant; takes effect immediately',
  ...ownersOrAdmin,
});
