import * as shapes from '@svc/contract/connectors.shapes.ts';
import * as endpoints from '@svc/contract/connectors.ts';
import { type Route, routes } from '../../http/router.ts';
import {
  type ConnectorDeps,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  updateConnector,
} from './connectors.ts';

export const connectorRoutes = (deps: ConnectorDeps): Route[] =>
  routes(endpoints, shapes, {
    listConnectors: (ctx, { query }) => listConnectors(ctx, query),
    createConnector: (ctx, { body }) => createConnector(ctx, body, deps),
    getConnector: (ctx, { params }) => getConnector(ctx, { connector: params.connectorID }),
    updateConnector: (ctx, { params, body }) =>
      updateConnector(ctx, { connector: params.connectorID, set: body }, deps),
    deleteConnector: (ctx, { params }) => deleteConnector(ctx, { connector: params.connectorID }),
  });
