import type * as shapes from './connectors.shapes.ts';
import { accessAdmins, act, change, read, remove, update } from './endpoint.ts';

export const connectorKinds = ['tables', 'postgres', 'mysql', 'http'] as const;
export type ConnectorKind = (typeof connectorKinds)[number];
export const connectorNameCharsMax = 100;
export const connectorOwnersMax = 20;

/** Kinds of database servers, with their usual port. `mysql` is MariaDB too. */
export const databasePorts = { postgres: 5432, mysql: 3306 } as const;
export type DatabaseKind = keyof typeof databasePorts;

export function isDatabaseKind(kind: ConnectorKind): kind is DatabaseKind {
  return Object.hasOwn(databasePorts, kind);
}

/** As libpq defines them; `require` encrypts, but does not check whose certificate it is. */
export const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type TlsMode = (typeof tlsModes)[number];

export const connectorTablesMax = 5_000;

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
  summary: 'Update a connector',
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

export const testConnector = read<typeof shapes.testConnector>()({
  id: 'connectors.test',
  method: 'POST',
  path: `${collection}/{connectorID}/test`,
  summary: 'Connect to the data source, and describe the server and what the login can do',
  ...accessAdmins,
  errors: ['connector_not_configured', 'connector_unavailable'],
  perMinuteMax: 60,
});

export const refreshConnectorSchema = act<typeof shapes.refreshConnectorSchema>()({
  id: 'connectors.refreshSchema',
  path: `${collection}/{connectorID}/schema/refresh`,
  summary: 'Read the tables, views and columns of the data source, and store them',
  ...accessAdmins,
  errors: ['connector_not_configured', 'connector_unavailable'],
  perMinuteMax: 60,
});

export const listConnectorTables = read<typeof shapes.listConnectorTables>()({
  id: 'connectors.tables',
  path: `${collection}/{connectorID}/tables`,
  summary: 'List the tables and views of the data source as of the last refresh',
  ...accessAdmins,
});
