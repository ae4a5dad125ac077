import type * as shapes from './connectors.shapes.ts';
import { accessAdmins, change, read, remove, update } from './endpoint.ts';

export const connectorKinds = ['tables', 'postgres', 'http'] as const;
export const connectorNameCharsMax = 100;

const collection = '/api/v1/tenants/{tenantID}/connectors';

export const listConnectors = read<typeof shapes.listConnectors>()({
  id: 'connectors.list',
  path: collection,
  summary: "List the tenant's data connectors",
  ...accessAdmins,
});

export const createConnector = change<typeof shapes.createConnector>()({
  id: 'connectors.create',
  path: collection,
  summary: 'Register a data connector',
  ...accessAdmins,
  errors: ['unique_violation'],
});

export const getConnector = read<typeof shapes.getConnector>()({
  id: 'connectors.get',
  path: `${collection}/{connectorID}`,
  summary: 'Get a connector',
  ...accessAdmins,
});

export const updateConnector = update<typeof shapes.updateConnector>()({
  id: 'connectors.update',
  path: `${collection}/{connectorID}`,
  summary: 'Update the name or description of a connector',
  ...accessAdmins,
  errors: ['unique_violation'],
});

export const deleteConnector = remove<typeof shapes.deleteConnector>()({
  id: 'connectors.delete',
  path: `${collection}/{connectorID}`,
  summary: 'Delete a connector that no active grant uses',
  ...accessAdmins,
  errors: ['connector_in_use'],
});
