import * as shapes from '@svc/contract/connectors.shapes.ts';
import * as endpoints from '@svc/contract/connectors.ts';
import { type Route, tenantChange, tenantRead } from '../plumbing/route.ts';
import { createConnector } from './create-connector.ts';
import { deleteConnector } from './delete-connector.ts';
import { getConnector } from './get-connector.ts';
import { listConnectors } from './list-connectors.ts';
import { updateConnector } from './update-connector.ts';

export const connectorRoutes: Route[] = [
  tenantRead(endpoints.listConnectors, shapes.listConnectors, (ctx, { query }) => listConnectors(ctx, query)),
  tenantChange(endpoints.createConnector, shapes.createConnector, (ctx, { body }) =>
    createConnector(ctx, body),
  ),
  tenantRead(endpoints.getConnector, shapes.getConnector, (ctx, { params }) =>
    getConnector(ctx, { connector: params.connectorID }),
  ),
  tenantChange(endpoints.updateConnector, shapes.updateConnector, (ctx, { params, body }) =>
    updateConnector(ctx, { connector: params.connectorID, set: body }),
  ),
  tenantChange(endpoints.deleteConnector, shapes.deleteConnector, (ctx, { params }) =>
    deleteConnector(ctx, { connector: params.connectorID }),
  ),
];
