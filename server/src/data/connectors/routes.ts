import * as policyShapes from '@svc/contract/access-policies.shapes.ts';
import * as policies from '@svc/contract/access-policies.ts';
import * as shapes from '@svc/contract/connectors.shapes.ts';
import * as endpoints from '@svc/contract/connectors.ts';
import * as grantShapes from '@svc/contract/grants.shapes.ts';
import * as grants from '@svc/contract/grants.ts';
import type { ForeignTable } from '../../drivers/connectors/types.ts';
import { type Route, route, routes } from '../../http/router.ts';
import {
  type ConnectorsDeps,
  listConnectorTables,
  readSchema,
  refreshSchema,
  testConnector,
} from './connectors.ts';
import { listMyTables } from './my-tables.ts';
import { listPolicyWarnings } from './policy-warnings.ts';

export const connectorDataRoutes = (deps: ConnectorsDeps): Route[] => [
  ...routes(endpoints, shapes, {
    testConnector: (ctx, { params }) => testConnector(ctx, { connector: params.connectorID }, deps),
    listConnectorTables: (ctx, { params, query }) =>
      listConnectorTables(ctx, { connector: params.connectorID, query }),
  }),
  route(grants.listMyTables, grantShapes.listMyTables, (ctx, { query }) => listMyTables(ctx, query)),
  route(policies.listPolicyWarnings, policyShapes.listPolicyWarnings, (ctx, { query }) =>
    listPolicyWarnings(ctx, query),
  ),
  route(
    endpoints.refreshConnectorSchema,
    shapes.refreshConnectorSchema,
    (ctx, { params }, tables: readonly ForeignTable[]) =>
      refreshSchema(ctx, { connector: params.connectorID }, tables),
    { prepare: (ctx, { params }) => readSchema(ctx, { connector: params.connectorID }, deps) },
  ),
];
