import * as shapes from '@svc/contract/connectors.shapes.ts';
import * as endpoints from '@svc/contract/connectors.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createConnector } from './create-connector.ts';
import { deleteConnector } from './delete-connector.ts';
import { getConnector } from './get-connector.ts';
import { listConnectors } from './list-connectors.ts';
import { updateConnector } from './update-connector.ts';

export const connectorRoutes: Route[] = [
  route(endpoints.listConnectors, shapes.listConnectors, (ctx, { query }) => listConnectors(ctx, query)),
  route(endpoints.createConnector, shapes.createConnector, (ctx, { body }) => createConnector(ctx, body)),
  route(endpoints.getConnector, shapes.getConnector, (ctx, { params }) =>
    getConnector(ctx, { connector: params.connectorID }),
  ),
  route(endpoints.updateConnector, shapes.updateConnector, (ctx, { params, body }) =>
    updateConnector(ctx, { connector: params.connectorID, set: body }),
  ),
  route(endpoints.deleteConnector, shapes.deleteConnector, (ctx, { params }) =>
    deleteConnector(ctx, { connector: params.connectorID }),
  ),
];
