import type * as shapes from './connectors.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const connectorKinds = ['tables', 'postgres', 'http'] as const;
export const connectorNameCharsMax = 100;

const admin = { credential: 'login', role: 'tenant_admin', outsider: 'forbidden' } as const;
const adminsOnly = who('O:n C:n A:y M:n P:n N:n X:n');
const collection = '/api/v1/tenants/{tenantID}/connectors';

export const listConnectors = endpoint<typeof shapes.listConnectors>()({
  id: 'connectors.list',
  method: 'GET',
  path: collection,
  summary: "The tenant's data connectors",
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
});

export const createConnector = endpoint<typeof shapes.createConnector>()({
  id: 'connectors.create',
  method: 'POST',
  path: collection,
  summary: 'Register a data connector',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 201,
  errors: ['unique_violation'],
});

export const getConnector = endpoint<typeof shapes.getConnector>()({
  id: 'connectors.get',
  method: 'GET',
  path: `${collection}/{connectorID}`,
  summary: 'One connector',
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found'],
});

export const updateConnector = endpoint<typeof shapes.updateConnector>()({
  id: 'connectors.update',
  method: 'PATCH',
  path: `${collection}/{connectorID}`,
  summary: 'Change name or description of a connector',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'unique_violation'],
});

export const deleteConnector = endpoint<typeof shapes.deleteConnector>()({
  id: 'connectors.delete',
  method: 'DELETE',
  path: `${collection}/{connectorID}`,
  summary: 'Delete a connector that no active grant uses',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 204,
  errors: ['not_found', 'connector_in_use'],
});
