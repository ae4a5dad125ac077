import * as policyShapes from '@svc/contract/access-policies.shapes.ts';
import * as policies from '@svc/contract/access-policies.ts';
import * as accessPreviewShapes from '@svc/contract/access-preview.shapes.ts';
import * as accessPreviewEndpoints from '@svc/contract/access-preview.ts';
import * as appsShapes from '@svc/contract/apps.shapes.ts';
import * as appsEndpoints from '@svc/contract/apps.ts';
import * as connectorsShapes from '@svc/contract/connectors.shapes.ts';
import * as connectorsEndpoints from '@svc/contract/connectors.ts';
import * as declaredShapes from '@svc/contract/declared-tables.shapes.ts';
import * as declaredEndpoints from '@svc/contract/declared-tables.ts';
import * as grantShapes from '@svc/contract/grants.shapes.ts';
import * as grants from '@svc/contract/grants.ts';
import * as inspectionShapes from '@svc/contract/inspection.shapes.ts';
import * as inspectionEndpoints from '@svc/contract/inspection.ts';
import * as rawDbShapes from '@svc/contract/raw-db.shapes.ts';
import * as rawDbEndpoints from '@svc/contract/raw-db.ts';
import * as storageShapes from '@svc/contract/storage.shapes.ts';
import * as storageEndpoints from '@svc/contract/storage.ts';
import * as tablesShapes from '@svc/contract/tables.shapes.ts';
import * as tablesEndpoints from '@svc/contract/tables.ts';
import type { AccessLog } from '../access/log/access-log.ts';
import { findAppOfTenant } from '../apps/record/find-app.ts';
import { isVisibleTo } from '../apps/record/rules.ts';
import type { TenantCtx } from '../core/context.ts';
import { Failure, fail, orNotFound } from '../core/problem.ts';
import type { ForeignTable } from '../drivers/connectors/types.ts';
import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import { type Route, route, routes } from '../http/router.ts';
import { listPolicyWarnings } from './connectors/check-policy.ts';
import {
  type ConnectorsDeps,
  listConnectorTables,
  readSchema,
  refreshSchema,
  testConnector,
} from './connectors/connectors.ts';
import { listMyTables } from './connectors/my-tables.ts';
import {
  getInspectionConsent,
  inspectApp,
  listInspections,
  requireConsent,
  setInspectionConsent,
} from './inspection/inspection.ts';
import { type AppDocument, appDocument } from './openapi/app-document.ts';
import { previewAccess } from './preview/preview.ts';
import type { PreviewDeps } from './preview/resolve.ts';
import { disableRawDb, enableRawDb, getRawDb, rotateRawDb } from './raw-databases/raw-db.ts';
import type { Access } from './rows/access.ts';
import { callerTables, prepareAccessDecision } from './rows/table-access.ts';
import { copyObject, deleteObject, getObjectUrl, listObjects, signUpload } from './storage/objects.ts';
import type { UrlSigning } from './storage/signed-urls.ts';
import { enableStorage, getStorage } from './storage/storage.ts';
import { getTableAccess, setTableAccess } from './tables/access.ts';
import { applyTables, checkTables, exportTables } from './tables/apply-tables.ts';
import { addColumn, dropColumn } from './tables/columns.ts';
import { issueTableGrant, listTableGrants, revokeTableGrant } from './tables/grants.ts';
import { addIndex, dropIndex, listIndexes } from './tables/indexes.ts';
import { loadAppTables } from './tables/load-catalogue.ts';
import { createTable, dropTable, getTable, listTables, updateTable } from './tables/tables.ts';
import { updateColumn } from './tables/update-column.ts';

export const tableRoutes: Route[] = [
  ...routes(declaredEndpoints, declaredShapes, {
    exportTables: (ctx) => exportTables(ctx),
    applyTables: (ctx, { body }) => applyTables(ctx, body),
    checkTables: (ctx, { body }) => checkTables(ctx, body),
  }),
  ...routes(tablesEndpoints, tablesShapes, {
    listTables: (ctx, { query }) => listTables(ctx, query),
    createTable: (ctx, { body }) => createTable(ctx, body),
    getTable: (ctx, { params: { table } }) => getTable(ctx, { table }),
    getTableAccess: (ctx, { params: { table } }) => getTableAccess(ctx, { table }),
    setTableAccess: (ctx, { params: { table }, body }) => setTableAccess(ctx, { table, set: body }),
    updateTable: (ctx, { params: { table }, body }) => updateTable(ctx, { table, set: body }),
    dropTable: (ctx, { params: { table } }) => dropTable(ctx, { table }),
    addColumn: (ctx, { params: { table }, body }) => addColumn(ctx, { table, column: body }),
    updateColumn: (ctx, { params: { table, column }, body }) =>
      updateColumn(ctx, { table, column, set: body }),
    dropColumn: (ctx, { params: { table, column } }) => dropColumn(ctx, { table, column }),
    listIndexes: (ctx, { params: { table }, query }) => listIndexes(ctx, { table, query }),
    addIndex: (ctx, { params: { table }, body }) => addIndex(ctx, { table, index: body }),
    dropIndex: (ctx, { params: { table, index } }) => dropIndex(ctx, { table, index }),
    listTableGrants: (ctx, { params: { table }, query }) => listTableGrants(ctx, { table, query }),
    issueTableGrant: (ctx, { params: { table }, body }) => issueTableGrant(ctx, { table, grant: body }),
    revokeTableGrant: (ctx, { params: { table, grantID } }) =>
      revokeTableGrant(ctx, { table, grantId: grantID }),
  }),
];

export const connectorDataRoutes = (deps: ConnectorsDeps): Route[] => [
  ...routes(connectorsEndpoints, connectorsShapes, {
    testConnector: (ctx, { params }) => testConnector(ctx, { connector: params.connectorID }, deps),
    listConnectorTables: (ctx, { params, query }) =>
      listConnectorTables(ctx, { connector: params.connectorID, query }),
  }),
  route(grants.listMyTables, grantShapes.listMyTables, (ctx, { query }) => listMyTables(ctx, query)),
  route(policies.listPolicyWarnings, policyShapes.listPolicyWarnings, (ctx, { query }) =>
    listPolicyWarnings(ctx, query),
  ),
  route(
    connectorsEndpoints.refreshConnectorSchema,
    connectorsShapes.refreshConnectorSchema,
    (ctx, { params }, tables: readonly ForeignTable[]) =>
      refreshSchema(ctx, { connector: params.connectorID }, tables),
    { prepare: (ctx, { params }) => readSchema(ctx, { connector: params.connectorID }, deps) },
  ),
];

export const storageRoutes = (signing: UrlSigning): Route[] =>
  routes(storageEndpoints, storageShapes, {
    getStorage,
    enableStorage,
    listObjects: (ctx, { query }) => listObjects(ctx, query),
    getObjectUrl: (ctx, { query }) => getObjectUrl(ctx, query, signing),
    signUpload: (ctx, { body }) => signUpload(ctx, body, signing),
    copyObject: (ctx, { body }) => copyObject(ctx, body),
    deleteObject: (ctx, { query }) => deleteObject(ctx, query),
  });

export const rawDbRoutes = ({ raw }: { raw: RawDatabases }): Route[] =>
  routes(rawDbEndpoints, rawDbShapes, {
    getRawDb,
    enableRawDb: (ctx) => enableRawDb(ctx, { raw }),
    rotateRawDb,
    disableRawDb,
  });

export const previewRoutes = (deps: PreviewDeps & { accessLog: AccessLog }): Route[] =>
  routes(accessPreviewEndpoints, accessPreviewShapes, {
    previewAccess: (ctx, { body }) => previewAccess(ctx, body, deps),
  });

export const inspectionRoutes: Route[] = [
  ...routes(inspectionEndpoints, inspectionShapes, {
    getInspectionConsent,
    setInspectionConsent: (ctx, { body }) =>
      setInspectionConsent(ctx, { to: body.granted ? 'granted' : 'revoked' }),
    listInspections: (ctx, { query }) => listInspections(ctx, query),
  }),
  route(
    inspectionEndpoints.inspectApp,
    inspectionShapes.inspectApp,
    (ctx, { body }) => inspectApp(ctx, body),
    {
      beforeReplay: async (ctx) => void (await requireConsent(ctx)),
    },
  ),
];

export function documentRoutes({ baseUrl }: { baseUrl: string }): Route[] {
  return [
    route(
      appsEndpoints.getAppDocument,
      appsShapes.getAppDocument,
      (ctx, { params: { app } }) => getAppDocument(ctx, { app, baseUrl }),
      { etag: ({ info }) => `"${info.version}"` },
    ),
  ];
}

/** A table whose policy does not fit it answers nobody, so it is not in the document. */
function decideOrClose(decide: () => Access | null): Access | null {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Failure && error.code === 'policy_unresolvable') return null;
    throw error;
  }
}

export async function getAppDocument(
  { db, tenant, caller }: TenantCtx,
  { app: ref, baseUrl }: { app: string; baseUrl: string },
): Promise<AppDocument> {
  const app = orNotFound(await findAppOfTenant(db, tenant.id, { ref, userId: caller.userId }));
  const all = await loadAppTables(db, { tenantId: tenant.id, appId: app.id });
  const allGrants = all.flatMap(({ grants }) => grants);
  const { decide } = await prepareAccessDecision(db, { tenant, app, caller }, allGrants);
  const tables = all.flatMap(({ grants, ...table }) => {
    const access = decideOrClose(() => decide(table.catalogue, grants));
    if (!access) return [];
    const { table: seen } = callerTables(table.catalogue, access, '');
    return [{ ...table, access, readable: [...seen.byName.values()] }];
  });
  if (tables.length === 0 && !isVisibleTo(app.visibility, app.relation, tenant.role)) throw fail('not_found');
  return appDocument(baseUrl, tenant, app, tables);
}
