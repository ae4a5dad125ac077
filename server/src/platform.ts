import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { batchStatementMsMax, rowStatementMsMax } from '@svc/contract/rows.ts';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { createAppMetrics } from './app-metrics/create-app-metrics.ts';
import { createUsageSampler } from './app-metrics/sample-usage.ts';
import { createAppAccess } from './apps/app-access.ts';
import type { BootstrapParts } from './bootstrap/bootstrap-parts.ts';
import { createBootstrapWorker } from './bootstrap/create-bootstrap-worker.ts';
import { detachApps } from './categories/detach-apps.ts';
import { createChallengeAnswer } from './certificates/challenge-answer.ts';
import { createCertificates } from './certificates/create-certificates.ts';
import { followCertificates } from './certificates/follow-certificates.ts';
import { createServedCertificates } from './certificates/served-certificates.ts';
import type { Config } from './config.ts';
import { consoleSources } from './console/console-sources.ts';
import { type Console, createConsole } from './console/create-console.ts';
import { discardArtifact, discardTopic } from './deployments/expire-artifacts.ts';
import { imageKey } from './deployments/image-key.ts';
import { openDeployments } from './deployments/open-deployments.ts';
import { orderTopic } from './domains/domain-certificates.ts';
import { openDomainsPlace } from './domains/domains-place.ts';
import { findActiveHost } from './domains/find-active-host.ts';
import { tellLoss } from './domains/tell-loss.ts';
import { type Database, openDatabase } from './drivers/database/database.ts';
import { openDns } from './drivers/dns/open-dns.ts';
import { clearGitWork } from './drivers/git-client/clear-git-work.ts';
import { createGitClient } from './drivers/git-client/create-git-client.ts';
import { openSmtpMail } from './drivers/mail/smtp-mail.ts';
import { openObjectStore } from './drivers/object-store/object-store.ts';
import { createRowDatabase } from './drivers/row-database/row-database.ts';
import { openRuntime } from './drivers/runtime/open-runtime.ts';
import { createSiteHandle } from './edge/answer-request.ts';
import { openEdge } from './edge/open-edge.ts';
import { createUserTokens } from './edge/user-tokens.ts';
import { createFront } from './front.ts';
import type { GitParts } from './git-connections/git-parts.ts';
import { makeHook, makeHookTopic } from './git-connections/make-hook.ts';
import { createWebhookReceiver } from './git-connections/receive-webhook.ts';
import { removeHook, removeHookTopic } from './git-connections/remove-hook.ts';
import { builtInCredentials } from './git-host/built-in-credentials.ts';
import { createGitHost, type GitHostService } from './git-host/create-git-host.ts';
import { removeFolder, removeFolderTopic } from './git-host/remove-folder.ts';
import { gitHostSweeps } from './git-host/sweep-git-host.ts';
import { openGitHost, ownAddress } from './git-host-place.ts';
import { type HttpsPlace, secureOrigin } from './https-place.ts';
import { createIcons } from './icons/create-icons.ts';
import { removeIconObjects } from './icons/remove-objects.ts';
import { createAuthenticate } from './identity/authenticate.ts';
import { createFindCredential } from './identity/find-credential.ts';
import { providerWhenAsked } from './identity/provider-when-asked.ts';
import { closeLocalLogin, openLocalLogin } from './local-login.ts';
import { createLogSink } from './logs/log-sink.ts';
import { createLogWaits } from './logs/log-waits.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import { mailNotification } from './notifications/mail-notification.ts';
import { mailTopic } from './notifications/mail-topic.ts';
import { createApi } from './plumbing/api.ts';
import type { ChainHead } from './plumbing/audit.ts';
import { anchorsFile, keepAnchors } from './plumbing/audit-anchors.ts';
import { createTaggedCache } from './plumbing/cache.ts';
import { openControlDatabase } from './plumbing/db.ts';
import type { DirectHandle } from './plumbing/direct.ts';
import type { Edge } from './plumbing/edge-request.ts';
import type { HostHandle } from './plumbing/host-handle.ts';
import { listenForChanges } from './plumbing/invalidation.ts';
import { keptKey } from './plumbing/kept-key.ts';
import type { Metrics } from './plumbing/metrics.ts';
import { migrate } from './plumbing/migrate.ts';
import { createOutbox } from './plumbing/outbox.ts';
import { createReadiness } from './plumbing/readiness.ts';
import type { Handle } from './plumbing/serve.ts';
import { installationId } from './raw-db/installation-id.ts';
import { keepAddress } from './raw-db/keep-address.ts';
import { settleRawDb } from './raw-db/settle-raw-db.ts';
import { openRawPlace } from './raw-place.ts';
import { routesOf } from './routes-of.ts';
import { prepareData } from './rows/prepare-data.ts';
import { createReach } from './rows/reach.ts';
import { createRows } from './rows/routes.ts';
import { openRowsPlace } from './rows-place.ts';
import { type Seeded, seed, seededAdmin } from './seed.ts';
import { removeSourcesOfApp } from './sources/purge-sources.ts';
import { createSourcesHandler } from './sources/sources-handler.ts';
import { removeBlobs } from './static-sites/discard-blobs.ts';
import { removeFilesOfSite } from './static-sites/purge-static-site.ts';
import { createUploadsHandler } from './static-sites/uploads-handler.ts';
import { removeBlob } from './storage/discard-blob.ts';
import { createIssuerAccess } from './storage/issuer-access.ts';
import { createObjectsHandler } from './storage/objects-handler.ts';
import { removeObjectsOfApp } from './storage/purge-storage.ts';
import { sweepsOf } from './sweeps.ts';
import { createTenantAccess } from './tenants/tenant-access.ts';
import { createVisitors } from './visitors/create-visitors.ts';
import { createSiteAuth } from './visitors/site-auth.ts';

export interface Platform {
  handle: Handle;
  console: Console;
  /** Hosts of sites. */
  sites: HostHandle;
  edge: Edge;
  /** The rows. */
  direct: DirectHandle;
  /** Set when this start made the first tenant. */
  seeded: Seeded | null;
  database: Database;
  /** Lets those go who wait for what may come: the server is about to stop. */
  stopWaiting(): void;
  stop(): Promise<void>;
}

const controlConnectionsMax = 20;

/** Builds what the slices need, in the order in which they need it. */
export async function startPlatform(
  config: Config,
  log: Logger,
  metrics: Metrics,
  https: HttpsPlace | null,
): Promise<Platform> {
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
      connecting: 'patient',
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

    const ordering = await createCertificates(config.acme, {
      db,
      log,
      operator: () => ({ db, outbox, log }),
    });
    const domains = openDomainsPlace({
      ...config,
      ...config.domains,
      secureOrigin: ({ host, hasCertificate }) =>
        https && (hasCertificate || https.covers(host)) ? secureOrigin(config, host) : null,
      dns: openDns(config.domains.dns),
      certificates: ordering.certificates,
    });

    const git: GitParts = {
      db,
      gitHost: await openGitHost(config, { builtIn: () => builtInCredentials(db) }),
      baseUrl: config.baseUrl,
      now: () => new Date(),
    };
    let builtInGit: GitHostService | null = null;
    const runtime = await openRuntime(config, {
      log,
      installation: await installationId(db),
      imageKey: await imageKey(db),
    });
    undo.unshift(() => runtime.close());
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
        [orderTopic]: ordering.order,
        [makeHookTopic]: makeHook(git),
        [removeHookTopic]: removeHook(git),
        [removeFolderTopic]: removeFolder(config.dataDir),
        [discardTopic]: discardArtifact({ db, runtime }),
        [mailTopic]: mailNotification({
          ...{ db, log, baseUrl: config.baseUrl, now: () => new Date() },
          mail: config.mail && openSmtpMail(config.mail),
        }),
        'domains.tellLoss': tellLoss(() => ({ db, outbox, log })),
        'static.removeBlobs': removeBlobs({ objects }),
        'static.discardApp': removeFilesOfSite({ objects }),
        'storage.discardBlob': removeBlob({ db, objects }),
        'storage.discardApp': removeObjectsOfApp({ db, objects }),
        'sources.discardApp': removeSourcesOfApp({ objects }),
      },
      lanes: { mail: [mailTopic] },
      sweeps: [
        ...sweepsOf(() => ({
          ...{ db, rows, rowsDb: rows.db ?? db, objects, domains, ordering, outbox, log, runtime },
        })),
        ...gitHostSweeps(() => builtInGit?.parts ?? null),
      ],
    });
    await outbox.start();
    undo.unshift(outbox.stop);
    undo.unshift(ordering.stop);

    const invalidation = listenForChanges({ url: database.controlUrl, log });
    await invalidation.start();
    undo.unshift(invalidation.stop);

    const logWaits = createLogWaits(invalidation);
    const gitWork = join(config.dataDir, 'git-work');
    await clearGitWork(gitWork, new Date());
    const gitClient = createGitClient({ workDir: gitWork, path: config.runtime.surroundings.path });
    const bootstrap: BootstrapParts = {
      ...config,
      ...{ db, outbox, log, rows, gitHost: git.gitHost, now: git.now, onCommitted: invalidation.tell },
      git: gitClient,
    };

    const seeded = config.seed === 'demo' ? await seed({ db, outbox, log }) : null;
    const localSecret = config.seed === 'demo' ? openLocalLogin(config) : null;
    undo.unshift(async () => closeLocalLogin(config, localSecret));

    const provider = await providerWhenAsked({
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
      routesOf({ ...config, raw, urlKey, domains, git, bootstrap, runtime, logWaits, objects }),
    );
    const rowDb = createRowDatabase({
      url: database.rowsUrl,
      statementMsMax: rowStatementMsMax,
      transactionStatementMsMax: batchStatementMsMax,
    });
    undo.unshift(async () => rowDb.close());
    const findCredential = createFindCredential({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
      now,
      origin: config.baseUrl,
      log,
    });
    const direct = createRows({
      rowDb,
      findCredential,
      reach: createReach({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 20_000 }),
        tenantAccess,
      }),
      cursorKey: await keptKey(db, 'rows.cursor_key', async () => randomBytes(32).toString('base64url')),
    });
    builtInGit = await createGitHost({
      ...config,
      reachedAt: ownAddress(config),
      db,
      outbox,
      now,
      authenticate,
      tenantAccess,
      findCredential: createFindCredential({
        db,
        cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
        now,
        origin: config.baseUrl,
        log,
      }),
      onCommitted: invalidation.tell,
      log,
    });
    undo.unshift(builtInGit.stop);
    const isReady = createReadiness(async () => void (await sql`select 1`.execute(db)));
    const icons = createIcons({
      db,
      outbox,
      objects,
      signer: { baseUrl: config.baseUrl, key: urlKey },
      now,
      onCommitted: invalidation.tell,
    });
    const issuerAccess = createIssuerAccess({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
    });
    const uploads = createUploadsHandler({ db, objects, urlKey, now, issuerAccess });
    const sources = createSourcesHandler({ db, objects, urlKey, now, issuerAccess });
    const objectsHandler = createObjectsHandler({
      db,
      objects,
      outbox,
      urlKey,
      now,
      issuerAccess,
      onCommitted: invalidation.tell,
    });
    const siteAuth = createSiteAuth({
      ...config,
      httpsPort: config.https?.port ?? null,
      db,
      now,
      authenticate,
      appAtDomain: findActiveHost,
    });
    const challengeAnswer = createChallengeAnswer({ db });
    const appMetrics = createAppMetrics({ db, log, now });
    appMetrics.start();
    undo.unshift(appMetrics.stop);
    metrics.appTotals(appMetrics.totals);
    const userTokens = await createUserTokens({ db, baseUrl: config.baseUrl, now });
    const edge = await openEdge({
      ...config,
      db,
      objects,
      invalidation,
      visitors: createVisitors({
        ...config,
        httpsPort: config.https?.port ?? null,
        db,
        now,
        cache: createTaggedCache(invalidation, { entriesMax: 20_000 }),
        onCommitted: invalidation.tell,
      }),
      challengeAnswer,
      secureOrigin: (host) => (https?.hasCertificate(host) ? secureOrigin(config, host) : null),
      log,
      count: metrics.site,
      countOf: appMetrics.note,
      findCredential,
      tokens: userTokens,
    });
    undo.unshift(async () => edge.stop());
    if (https) {
      const load = createServedCertificates({ db, log });
      const following = await followCertificates({ listener: https, load, invalidation, log });
      undo.unshift(async () => following.stop());
    }
    const deployments = await openDeployments({
      ...config,
      ...{ db, outbox, log, objects, urlKey, invalidation, runtime, git },
      logs: createLogSink({ db, log }),
      gitClient,
      underWay: edge.underWay.count,
      sample: createUsageSampler({ db, runtime, metrics: appMetrics }).sample,
      copies: config.databaseUrl === undefined ? 'one' : 'many',
    });
    undo.unshift(() => deployments.stop());
    const consolePages = createConsole({ sources: consoleSources, baseUrl: config.baseUrl });
    const handle = createFront({
      config,
      challengeAnswer,
      siteAuth,
      gitHost: builtInGit.handle,
      gitWebhook: createWebhookReceiver({ ...git, outbox, log }),
      metrics,
      api,
      console: consolePages,
      icons,
      objects: objectsHandler,
      uploads,
      sources,
      isReady,
      userKeys: userTokens.publicKeys,
      oauth: provider.handle,
    });
    // Last: it asks the git host, which may be this very server.
    const bootstraps = createBootstrapWorker(bootstrap, { invalidation });
    bootstraps.start();
    undo.unshift(() => bootstraps.stop());
    control.isStarted();
    const stopNow = () => {
      raw.stopNow();
      database.stopNow();
    };
    return {
      handle,
      console: consolePages,
      sites: createSiteHandle({ ...config, edge, count: metrics.site }),
      edge,
      direct,
      seeded,
      database: { ...database, stopNow },
      stopWaiting: () => {
        logWaits.stop();
        void bootstraps.stop();
      },
      stop: () => undoAll(undo, log),
    };
  } catch (error) {
    await undoAll(undo, log);
    throw error;
  }
}

async function undoAll(undo: readonly (() => Promise<void>)[], log: Logger): Promise<void> {
  for (const step of undo) await step().catch((error: unknown) => log.warn({ err: error }, 'while stopping'));
}
