import { batchStatementMsMax, connectorStatementMsMax, rowStatementMsMax } from '@svc/contract/rows.ts';
import { objectsPrefix } from '@svc/contract/storage.ts';
import { onAccess } from '../access/access-events.ts';
import type { AccessServices } from '../access/module.ts';
import { onApp } from '../apps/app-events.ts';
import { createTaggedCache } from '../core/cache.ts';
import type { MutationCtx } from '../core/context.ts';
import type { IpNetworks } from '../core/ip-networks.ts';
import {
  type ConnectorDatabases,
  createConnectorDatabases,
  createConnectorNetworks,
} from '../drivers/connectors/databases.ts';
import type { DriverDeps } from '../drivers/deps.ts';
import { openRawDatabases, type RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import { createRowPool } from '../drivers/row-database/row-pool.ts';
import { under } from '../http/front.ts';
import type { FastPathHandler } from '../http/handlers.ts';
import type { Module } from '../http/module.ts';
import type { IdentityServices } from '../identity/module.ts';
import type { PeopleServices } from '../people/module.ts';
import { onPerson } from '../people/person-events.ts';
import { createConnectorAccess } from './connectors/access.ts';
import { checkSavedPolicy } from './connectors/check-policy.ts';
import { createOwnAccess } from './preview/own-access.ts';
import { createPolicyEffects } from './preview/policy-effects.ts';
import type { PreviewDeps } from './preview/resolve.ts';
import {
  closeRawDatabase,
  installationId,
  publishRawDatabases,
  purgeRawDatabase,
  reconcileRawDb,
  reopenRawDatabase,
  resizeRawDatabase,
} from './raw-databases/lifecycle.ts';
import { rawDatabaseKey, rotateRawDbsKnownTo } from './raw-databases/passwords.ts';
import {
  connectorDataRoutes,
  documentRoutes,
  inspectionRoutes,
  previewRoutes,
  rawDbRoutes,
  storageRoutes,
  tableRoutes,
} from './routes.ts';
import { createDataSchema, deleteExpiredRowKeys } from './rows/data-schema.ts';
import { createFeedPositions } from './rows/feed-changes.ts';
import { createFeedHub } from './rows/feed-hub.ts';
import { removeUnusedFiles } from './rows/files.ts';
import { createRowsHandler } from './rows/handler.ts';
import { listPeople } from './rows/people.ts';
import { createCursors, cursorKey } from './rows/plan.ts';
import { createTableAccess, maskKey } from './rows/table-access.ts';
import { createObjectsHandler } from './storage/objects-handler.ts';
import { createIssuerAccess } from './storage/signed-urls.ts';
import { deleteAppObjects, deleteUnusedBlob, enableStorageForApp, purgeStorage } from './storage/storage.ts';
import { deleteStaleUploads } from './storage/uploads.ts';
import { deleteOldChanges } from './tables/change-log.ts';
import { revokePrincipalGrants } from './tables/grants.ts';
import { createTableIntents, pollIntents, type TableIntents } from './tables/table-intents.ts';
import { dropAppTables } from './tables/tables.ts';

export interface DataServices {
  rawDatabases: RawDatabases;
  issuerAccess: ReturnType<typeof createIssuerAccess>;
  rowsFastPath: FastPathHandler;
  connectorDatabases: ConnectorDatabases;
  previewDeps: PreviewDeps;
  tableIntents: TableIntents | null;
}

type DataDeps = DriverDeps &
  AccessServices &
  PeopleServices &
  IdentityServices & {
    config: {
      dataDatabaseUrl: string | undefined;
      rawDatabaseUrl: string | undefined;
      databasePatience: number;
      connectorNetworks: IpNetworks | null;
    };
  };

export const data: Module = {
  name: 'data',
  keys: [cursorKey, maskKey, rawDatabaseKey],
  async open(deps: DataDeps): Promise<DataServices> {
    const { config, database, db, log, rows, invalidation, supervisor, onStop } = deps;
    const { epoch } = await createDataSchema({
      url: config.dataDatabaseUrl ?? database.controlUrl,
      role: rows.role,
    });
    const { outbox, events } = deps;
    const tableIntents = rows.db && createTableIntents({ db, rowsDb: rows.db, epoch, outbox, events, log });
    if (tableIntents) rows.intents = tableIntents;
    const rawDatabases = openRawDatabases(config, database, {
      installation: await installationId(db),
      log,
      supervisor,
    });
    onStop(rawDatabases.close);
    await publishRawDatabases({ db, raw: rawDatabases });
    const rowDb = createRowPool({
      url: database.rowsUrl,
      statementMsMax: rowStatementMsMax * config.databasePatience,
      transactionStatementMsMax: batchStatementMsMax,
    });
    onStop(() => rowDb.close());
    // Where this fails, requests try again.
    await rowDb.open().catch(() => {});
    const accessDeps = {
      db,
      tenantAccess: deps.tenantAccess,
      now: deps.now,
      maskKey: await deps.keys.follow(maskKey),
    };
    const tableAccess = createTableAccess({
      ...accessDeps,
      cache: createTaggedCache(invalidation, { entriesMax: 20_000 }),
    });
    const cursorSecret = await deps.keys.follow(cursorKey);
    const cursors = createCursors(cursorSecret);
    const hub = createFeedHub({ rowDb, url: database.rowsUrl, invalidation, log });
    deps.onStopping(hub.close);
    const { dataDatabaseUrl, rawDatabaseUrl, connectorNetworks } = config;
    const own = [database.controlUrl, database.rowsUrl, dataDatabaseUrl, rawDatabaseUrl];
    const connectorDatabases = createConnectorDatabases({
      networks: createConnectorNetworks({
        allowed: connectorNetworks,
        ownDatabases: own.filter((url) => url !== undefined),
      }),
      statementMsMax: connectorStatementMsMax,
      log,
    });
    onStop(connectorDatabases.close);
    const connectorAccessDeps = { ...accessDeps, connectorDatabases, baseUrl: config.baseUrl };
    const connectorAccess = createConnectorAccess({
      ...connectorAccessDeps,
      cache: createTaggedCache(invalidation, { entriesMax: 20_000 }),
    });
    const accessTo = ({ schema }: { schema?: string }) =>
      schema === undefined ? tableAccess : connectorAccess;
    const previewDeps = { ...connectorAccessDeps, rowDb };
    deps.policyEffects.load = createPolicyEffects(previewDeps);
    return {
      rawDatabases,
      connectorDatabases,
      previewDeps,
      tableIntents,
      issuerAccess: createIssuerAccess({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
      }),
      rowsFastPath: createRowsHandler({
        rowDb,
        findCredential: deps.findCredential,
        tableAccess: {
          resolve: (caller, path) => accessTo(path).resolve(caller, path),
          invalidate: (caller, path) => accessTo(path).invalidate(caller, path),
        },
        listPeople: (call) => listPeople({ ...accessDeps, rowDb }, call),
        ownAccess: createOwnAccess(previewDeps),
        cursors,
        files: {
          db,
          objects: deps.objects,
          signing: { baseUrl: config.baseUrl, urlKey: deps.urlKey },
          now: deps.now,
        },
        accessLog: deps.accessLog,
        feeds: { hub, epoch, positions: createFeedPositions(cursorSecret) },
        now: deps.now,
        callerLimit: deps.callerLimit,
        countExchange: supervisor?.counts,
      }),
    };
  },
  routes: ({
    config,
    urlKey,
    rawDatabases,
    connectorDatabases,
    previewDeps,
    accessLog,
  }: DataDeps & DataServices) => [
    ...inspectionRoutes,
    ...tableRoutes,
    ...storageRoutes({ baseUrl: config.baseUrl, urlKey }),
    ...rawDbRoutes({ raw: rawDatabases }),
    ...documentRoutes({ baseUrl: config.baseUrl }),
    ...connectorDataRoutes({ connectorDatabases }),
    ...previewRoutes({ ...previewDeps, accessLog }),
  ],
  handlers: (deps: DataDeps & DataServices) => [
    { matches: under(objectsPrefix), limit: 'own', handle: createObjectsHandler(deps) },
  ],
  effects: ({ db, objects, rawDatabases }: DataDeps & DataServices) => ({
    'rawDb.settle': reconcileRawDb({ db, raw: rawDatabases }),
    'storage.discardBlob': deleteUnusedBlob({ db, objects }),
    'storage.discardApp': deleteAppObjects({ db, objects }),
  }),
  jobs: (deps: DriverDeps) => [
    {
      name: 'storage.forgetUploads',
      cron: '7,37 * * * *',
      run: () => deleteStaleUploads(deps, { now: deps.now() }),
    },
    {
      name: 'rows.removeUnusedFiles',
      cron: '*/5 * * * *',
      run: () => removeUnusedFiles({ ...deps, rowsDb: deps.rows.db ?? deps.db }, { now: deps.now() }),
    },
    { name: 'rows.forgetKeys', cron: '27 * * * *', run: () => deleteExpiredRowKeys(deps.rows.db ?? deps.db) },
    {
      name: 'rows.forgetChanges',
      cron: '47 * * * *',
      run: () => deleteOldChanges({ db: deps.db, rowsDb: deps.rows.db ?? deps.db }),
    },
  ],
  start({ tableIntents, db, rows, log, onStop }: DataDeps & DataServices) {
    if (tableIntents && rows.db) onStop(pollIntents({ intents: tableIntents, db, rowsDb: rows.db, log }));
  },
  subscriptions: () => [
    onPerson({
      leftTenant: endDataAccess,
      deactivated: endDataAccess,
      groupDeleted: async (ctx, { tenantId, group }) => {
        const principal = { type: 'group', id: group.id } as const;
        for (const change of await revokePrincipalGrants(ctx, tenantId, principal)) ctx.audit(change);
      },
    }),
    onAccess({ policySaved: checkSavedPolicy }),
    onApp({
      created: async (ctx, { appId, slug, hasStorage }) => {
        if (hasStorage) await enableStorageForApp(ctx, { id: appId, slug });
      },
      deleted: async (ctx, app) => {
        await closeRawDatabase(ctx, app);
        return { before: {}, after: {} };
      },
      restored: (ctx, app) => reopenRawDatabase(ctx, app),
      resized: (ctx, app) => resizeRawDatabase(ctx, app),
      ownerRemoved: (ctx, { tenantId, appId, userId }) =>
        rotateRawDbsKnownTo(ctx, { tenantId, appId, userId }),
      purged: async (ctx, app) => {
        const changes = await revokePrincipalGrants(ctx, app.tenantId, { type: 'app', id: app.appId });
        const { databases } = await purgeRawDatabase(ctx, app);
        const { objects, bytes } = await purgeStorage(ctx, app);
        const { tables, rows, grants } = await dropAppTables(ctx, app);
        return {
          removed: { tables, rows, table_grants: grants + changes.length, databases, objects, bytes },
          changes,
        };
      },
    }),
  ],
};

async function endDataAccess(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string } },
): Promise<void> {
  const principal = { type: 'user', id: user.id } as const;
  for (const change of await revokePrincipalGrants(ctx, tenantId, principal)) ctx.audit(change);
  await rotateRawDbsKnownTo(ctx, { tenantId, userId: user.id });
}
