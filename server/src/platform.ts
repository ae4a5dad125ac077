import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { batchStatementMsMax, rowStatementMsMax } from '@svc/contract/rows.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { accessPolicyRoutes } from './access-policies/routes.ts';
import { createAppAccess } from './apps/app-access.ts';
import { appLifeRoutes } from './apps/life-routes.ts';
import { ownerRoutes } from './apps/owner-routes.ts';
import { appRoutes } from './apps/routes.ts';
import { detachApps } from './categories/detach-apps.ts';
import { categoryRoutes } from './categories/routes.ts';
import type { Config } from './config.ts';
import { connectorRoutes } from './connectors/routes.ts';
import { type Database, openDatabase } from './drivers/database/database.ts';
import { openObjectStore } from './drivers/object-store/object-store.ts';
import type { RawDatabases } from './drivers/raw-database/raw-databases.ts';
import { createRowDatabase } from './drivers/row-database/row-database.ts';
import { createFront } from './front.ts';
import { grantRoutes } from './grants/routes.ts';
import { createIcons } from './icons/create-icons.ts';
import { removeIconObjects } from './icons/remove-objects.ts';
import { iconRoutes } from './icons/routes.ts';
import { createAuthenticate } from './identity/authenticate.ts';
import { createFindCredential } from './identity/find-credential.ts';
import { createIdentityProvider } from './identity/provider.ts';
import { inspectionRoutes } from './inspection/routes.ts';
import { closeLocalLogin, openLocalLogin } from './local-login.ts';
import { meRoutes } from './me/routes.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { patRoutes } from './pats/routes.ts';
import { createApi } from './plumbing/api.ts';
import type { ChainHead } from './plumbing/audit.ts';
import { anchorsFile, keepAnchors } from './plumbing/audit-anchors.ts';
import { createTaggedCache } from './plumbing/cache.ts';
import { openControlDatabase } from './plumbing/db.ts';
import type { DirectHandle } from './plumbing/direct.ts';
import { listenForChanges } from './plumbing/invalidation.ts';
import { keptKey } from './plumbing/kept-key.ts';
import type { Metrics } from './plumbing/metrics.ts';
import { migrate } from './plumbing/migrate.ts';
import { createOutbox } from './plumbing/outbox.ts';
import { createReadiness } from './plumbing/readiness.ts';
import type { Route } from './plumbing/route.ts';
import type { Handle } from './plumbing/serve.ts';
import { presetRoutes } from './presets/routes.ts';
import { installationId } from './raw-db/installation-id.ts';
import { keepAddress } from './raw-db/keep-address.ts';
import { rawDbRoutes } from './raw-db/routes.ts';
import { settleRawDb } from './raw-db/settle-raw-db.ts';
import { openRawPlace } from './raw-place.ts';
import { resourcePresetRoutes } from './resource-presets/routes.ts';
import { documentRoutes } from './rows/document-routes.ts';
import { prepareData } from './rows/prepare-data.ts';
import { createReach } from './rows/reach.ts';
import { createRows } from './rows/routes.ts';
import { openRowsPlace } from './rows-place.ts';
import { type Seeded, seed, seededAdmin } from './seed.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { removeBlob } from './storage/discard-blob.ts';
import { createIssuerAccess } from './storage/issuer-access.ts';
import { createObjectsHandler } from './storage/objects-handler.ts';
import { removeObjectsOfApp } from './storage/purge-storage.ts';
import { storageRoutes } from './storage/routes.ts';
import { sweepsOf } from './sweeps.ts';
import { tableRoutes } from './tables/routes.ts';
import { templateRoutes } from './templates/routes.ts';
import { tenantRoutes } from './tenants/routes.ts';
import { createTenantAccess } from './tenants/tenant-access.ts';

/** Every route of the control plane; a slice is added here and nowhere else. */
export const routesOf = ({
  baseUrl,
  raw,
  urlKey,
}: Pick<Config, 'baseUrl'> & { raw: RawDatabases; urlKey: string }): readonly Route[] => [
  ...meRoutes,
  ...sessionRoutes,
  ...patRoutes,
  ...tenantRoutes,
  ...connectorRoutes,
  ...presetRoutes,
  ...grantRoutes,
  ...accessPolicyRoutes,
  ...appRoutes,
  ...appLifeRoutes,
  ...categoryRoutes,
  ...resourcePresetRoutes,
  ...templateRoutes,
  ...ownerRoutes,
  ...inspectionRoutes,
  ...tableRoutes,
  ...storageRoutes({ baseUrl, urlKey }),
  ...rawDbRoutes({ raw }),
  ...iconRoutes({ baseUrl, key: urlKey }),
  ...documentRoutes({ baseUrl }),
];

export interface Platform {
  handle: Handle;
  /** The rows. */
  direct: DirectHandle;
  /** Set when this start made the first tenant. */
  seeded: Seeded | null;
  database: Database;
  stop(): Promise<void>;
}

const controlConnectionsMax = 20;

/** Builds what the slices need, in the order in which they need it. */
export async function startPlatform(config: Config, log: Logger, metrics: Metrics): Promise<Platform> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
  const database = await openDatabase({ ...config, log: (line) => log.info(line) });
  const undo: (() => Promise<void>)[] = [() => database.stop()];
  try {
    await migrate({
      url: database.controlUrl,
      directory: migrationsDirectory,
      log: (line) => log.info(line),
    });
    const control = openControlDatabase(database.controlUrl, {
      connectionsMax: controlConnectionsMax,
      onError: (error) => log.warn({ err: error }, 'an idle database connection was lost'),
    });
    undo.unshift(control.close);
    const { db } = control;
    const objects = openObjectStore(config);
    /** Signs the addresses that things are uploaded to. */
    const urlKey = await keptKey(db, 'url.signing_key', async () => randomBytes(32).toString('base64url'));
    const rows = openRowsPlace(config, database, log);
    undo.unshift(rows.close);
    await prepareData({ url: config.dataDatabaseUrl ?? database.controlUrl, role: rows.role });

    const raw = openRawPlace(config, database, { installation: await installationId(db), log });
    undo.unshift(raw.close);
    await keepAddress({ db, raw });

    const keepAnchor = keepAnchors(anchorsFile(config.dataDir));
    const outbox = createOutbox({
      url: database.controlUrl,
      db,
      log,
      effects: {
        'audit.anchor': async (head) => keepAnchor(head as unknown as ChainHead),
        'rawDb.settle': settleRawDb({ db, raw }),
        'icons.remove': removeIconObjects({ objects }),
        'categories.detach': detachApps({ db }),
        'storage.discardBlob': removeBlob({ db, objects }),
        'storage.discardApp': removeObjectsOfApp({ db, objects }),
      },
      sweeps: sweepsOf(() => ({ db, rows, rowsDb: rows.db ?? db, objects, outbox, log })),
    });
    await outbox.start();
    undo.unshift(outbox.stop);

    const invalidation = listenForChanges({ url: database.controlUrl, log });
    await invalidation.start();
    undo.unshift(invalidation.stop);

    const seeded = config.seed === 'demo' ? await seed({ db, outbox, log }) : null;
    const localSecret = config.seed === 'demo' ? openLocalLogin(config) : null;
    undo.unshift(async () => closeLocalLogin(config, localSecret));

    const provider = await createIdentityProvider({
      db,
      baseUrl: config.baseUrl,
      appsDomain: config.appsDomain,
      dataDir: config.dataDir,
      log,
      ...(config.upstream ? { upstream: config.upstream } : {}),
      localSecret,
      localUser: () => seededAdmin(db),
    });
    undo.unshift(provider.stop);

    const now = () => new Date();
    const authenticate = createAuthenticate({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
      now,
      origin: config.baseUrl,
      log,
    });
    const tenantAccess = createTenantAccess({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
    });
    const appAccess = createAppAccess({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
    });
    const api = createApi(
      {
        db,
        outbox,
        now,
        authenticate,
        tenantAccess,
        appAccess,
        rows,
        onCommitted: invalidation.tell,
        checkAnswers: config.checkAnswers,
      },
      routesOf({ ...config, raw, urlKey }),
    );
    const rowDb = createRowDatabase({
      url: database.rowsUrl,
      statementMsMax: rowStatementMsMax,
      transactionStatementMsMax: batchStatementMsMax,
    });
    undo.unshift(async () => rowDb.close());
    const direct = createRows({
      rowDb,
      findCredential: createFindCredential({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
        now,
        origin: config.baseUrl,
        log,
      }),
      reach: createReach({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 20_000 }),
        tenantAccess,
      }),
      cursorKey: await keptKey(db, 'rows.cursor_key', async () => randomBytes(32).toString('base64url')),
    });
    const isReady = createReadiness(async () => void (await sql`select 1`.execute(db)));
    const icons = createIcons({
      db,
      outbox,
      objects,
      signer: { baseUrl: config.baseUrl, key: urlKey },
      now,
      onCommitted: invalidation.tell,
    });
    const objectsHandler = createObjectsHandler({
      db,
      objects,
      outbox,
      urlKey,
      now,
      issuerAccess: createIssuerAccess({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
      }),
      onCommitted: invalidation.tell,
    });
    const handle = createFront({
      config,
      metrics,
      api,
      icons,
      objects: objectsHandler,
      isReady,
      oauth: provider.handle,
    });
    const stopNow = () => {
      raw.stopNow();
      database.stopNow();
    };
    return { handle, direct, seeded, database: { ...database, stopNow }, stop: () => undoAll(undo, log) };
  } catch (error) {
    await undoAll(undo, log);
    throw error;
  }
}

async function undoAll(undo: readonly (() => Promise<void>)[], log: Logger): Promise<void> {
  for (const step of undo) await step().catch((error: unknown) => log.warn({ err: error }, 'while stopping'));
}
