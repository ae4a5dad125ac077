import { mkdirSync } from 'node:fs';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { AppsServices } from './apps/module.ts';
import type { Config } from './config.ts';
import { anchorEffect } from './core/audit-verify.ts';
import { createReadiness, openControlDatabase } from './core/db.ts';
import { deleteExpiredKeys } from './core/idempotency.ts';
import { listenForChanges } from './core/invalidation.ts';
import type { Job } from './core/jobs.ts';
import { withMasterKey } from './core/master-key.ts';
import type { Metrics } from './core/metrics.ts';
import { migrate, migrationsDirectory } from './core/migrate.ts';
import { createOutbox, deleteFinishedEffects, type EffectHandler } from './core/outbox-worker.ts';
import type { DataServices } from './data/module.ts';
import type { HttpsServer } from './drivers/certificates/https-server.ts';
import { type Database, openDatabase } from './drivers/database/database.ts';
import type { DriverDeps } from './drivers/deps.ts';
import { mailTopics } from './drivers/mail/mail.ts';
import { openObjectStore } from './drivers/object-store/open-object-store.ts';
import { openRowDatabase } from './drivers/row-database/row-pool.ts';
import type { EdgeServices } from './edge/module.ts';
import { createApi } from './http/api.ts';
import { createFront, type PathHandler, platformHandlers, under } from './http/front.ts';
import type { RequestHandler } from './http/handlers.ts';
import { metricsHandlers, publishedMetrics } from './http/metrics.ts';
import { createShutdown } from './http/module.ts';
import { createCallerLimit } from './http/rate-limit.ts';
import type { IdentityServices } from './identity/module.ts';
import { collectEvents, modules, openKeys, retireKeysJob } from './modules.ts';
import type { PeopleServices } from './people/module.ts';
import { type SeedResult, seed } from './people/seed.ts';

export interface Platform
  extends Pick<EdgeServices, 'edge' | 'sites' | 'console'>,
    Pick<DataServices, 'rowsFastPath'> {
  handle: RequestHandler;
  seeded: SeedResult | null;
  database: Database;
  /** Ends requests that wait for something to happen, such as log streams. */
  stopWaiting(): void;
  stop(): Promise<void>;
}

type Services = DriverDeps & PeopleServices & AppsServices & IdentityServices & DataServices & EdgeServices;

export async function startPlatform(
  config: Config,
  log: Logger,
  metrics: Metrics,
  https: HttpsServer | null,
  { supervisor, isEnding }: Pick<DriverDeps, 'supervisor'> & { isEnding(): boolean },
): Promise<Platform> {
  const { onStop, onStopping, stopWaiting, stop } = createShutdown(log);
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
    const logDatabase = (detail: string) => log.info({ detail }, 'platform database');
    const database = await (supervisor?.openDatabase() ?? openDatabase({ ...config, log: logDatabase }));
    onStop(() => database.stop());
    const url = database.controlUrl;
    await migrate({ url, directory: migrationsDirectory, log: logDatabase });
    const control = openControlDatabase(url, {
      connectionsMax: 20,
      isStarting: true,
      patience: config.databasePatience,
      onError: (error) => log.warn({ err: error }, 'idle database connection lost'),
    });
    onStop(control.close);
    const db = withMasterKey(control.db, config.masterKeyFile);
    const rows = openRowDatabase(config, database, log);
    onStop(rows.close);
    const effects: Record<string, EffectHandler> = { 'audit.anchor': anchorEffect(config.dataDir) };
    const jobs: Job[] = [
      { name: 'idempotency.forget', cron: '7 * * * *', run: () => deleteExpiredKeys(db) },
      { name: 'outbox.forget', cron: '17 3 * * *', run: () => deleteFinishedEffects(db) },
      retireKeysJob(() => services),
    ];
    const queues = { mail: mailTopics };
    const outbox = createOutbox({ url, db, log, effects, jobs, queues, connectsEarly: true });
    const invalidation = listenForChanges({ url, log });
    onStop(invalidation.stop);
    const [keys] = await Promise.all([openKeys({ db, invalidation, log, onStop }), invalidation.start()]);
    const services = {
      config,
      log,
      metrics,
      https,
      supervisor,
      database,
      db,
      rows,
      outbox,
      invalidation,
      onCommitted: invalidation.notify,
      objects: openObjectStore(config),
      ...keys,
      now: () => new Date(),
      events: collectEvents(config),
      callerLimit: createCallerLimit(config.rateLimits, { exchange: supervisor?.counts }),
      onStop,
      onStopping,
    } as DriverDeps as Services;
    for (const module of modules) Object.assign(services, await module.open?.(services));
    for (const module of modules) {
      Object.assign(effects, module.effects?.(services));
      jobs.push(...(module.jobs?.(services) ?? []));
    }
    const outboxStarted = outbox.start();
    onStop(outbox.stop);
    const seeded = config.seed === 'demo' ? await seed(services) : null;
    for (const module of modules) await module.start?.(services);
    await outboxStarted;

    const routes = modules.flatMap((module) => module.routes?.(services) ?? []);
    const api = createApi({ ...services, checkAnswers: config.checkAnswers }, routes);
    const isReady = createReadiness(async () => void (await sql`select 1`.execute(db)), isEnding);
    const handlers: PathHandler[] = [
      ...platformHandlers({ baseUrl: config.baseUrl, isReady }),
      ...metricsHandlers(publishedMetrics(metrics, supervisor), config.metrics),
      { matches: under('/api/v1/'), limit: 'own', handle: api },
      ...modules.flatMap((module) => module.handlers?.(services) ?? []),
    ];
    const handle = createFront(handlers, services);
    control.endStartup();
    const { edge, sites, console, rowsFastPath, rawDatabases } = services;
    return {
      handle,
      edge,
      sites,
      console,
      rowsFastPath,
      seeded,
      database: {
        ...database,
        stopNow() {
          rawDatabases.stopNow();
          database.stopNow();
        },
      },
      stopWaiting,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
