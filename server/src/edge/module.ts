import { explorerPrefix } from '@svc/contract/console-paths.ts';
import * as domainsShapes from '@svc/contract/domains.shapes.ts';
import * as domainsEndpoints from '@svc/contract/domains.ts';
import { siteAuthPath } from '@svc/contract/identity.ts';
import * as staticSitesShapes from '@svc/contract/static-sites.shapes.ts';
import * as staticSitesEndpoints from '@svc/contract/static-sites.ts';
import { userKeysPath } from '@svc/contract/user-keys.ts';
import { onApp } from '../apps/app-events.ts';
import { createTaggedCache } from '../core/cache.ts';
import { appSleep } from '../delivery/deployments/processes.ts';
import type { DeliveryServices } from '../delivery/module.ts';
import { type HttpsServer, secureOrigin } from '../drivers/certificates/https-server.ts';
import type { DriverDeps } from '../drivers/deps.ts';
import { openDns } from '../drivers/dns/open-dns.ts';
import type { TrustedProxies } from '../http/client-address.ts';
import { at, documentAt, under } from '../http/front.ts';
import type { HostHandler } from '../http/handlers.ts';
import type { Module } from '../http/module.ts';
import { type Route, route, routes } from '../http/router.ts';
import type { IdentityServices } from '../identity/module.ts';
import {
  acmeAccountKey,
  type CertificateService,
  type ChallengeLookup,
  challengePrefix,
  createCertificates,
  createChallengeLookup,
} from './certificates/certificates.ts';
import { createCertificateLoader, syncCertificates } from './certificates/served-certificates.ts';
import { certificateKey } from './certificates/store.ts';
import { type Console, consoleSources, createConsole } from './console/create-console.ts';
import { checkDomains } from './domains/check-domains.ts';
import { type DomainsConfig, openDomainsConfig, orderTopic } from './domains/domain-record.ts';
import {
  addDomain,
  type DomainLookup,
  detachDomains,
  getDomain,
  listDomains,
  lookUpDomain,
  removeDomain,
  verifyDomain,
} from './domains/domains.ts';
import { notifyLoss } from './domains/notify-owners.ts';
import { findActiveHost } from './domains/store.ts';
import { createSdkPackage, downloadHandlers, type SdkPackage } from './downloads/downloads.ts';
import { createExplorer } from './explorer/create-explorer.ts';
import { createUserTokens, type UserTokens, userTokenKey } from './sites/authenticate-visitor.ts';
import { openEdge } from './sites/edge.ts';
import { createSiteHandler } from './sites/handle-request.ts';
import { challengeResponse } from './sites/plain-page.ts';
import { createSiteAuth, startSiteAuth } from './visitors/site-auth.ts';
import type { FindAppAtDomain, SiteOriginConfig } from './visitors/site-target.ts';
import { deleteExpiredVisits } from './visitors/store.ts';
import { createVisitors } from './visitors/visitors.ts';

export const visitorRoutes = (deps: SiteOriginConfig & { findAppAtDomain: FindAppAtDomain }): Route[] =>
  routes(staticSitesEndpoints, staticSitesShapes, {
    startSiteAuth: (ctx, { body }) => startSiteAuth(ctx, deps, body),
  });

export const domainRoutes = (config: DomainsConfig): Route[] => [
  ...routes(domainsEndpoints, domainsShapes, {
    listDomains: (ctx, { query }) => listDomains(ctx, query, config),
    getDomain: (ctx, { params }) => getDomain(ctx, params.domain, config),
    removeDomain: (ctx, { params }) => removeDomain(ctx, params.domain),
  }),
  route(
    domainsEndpoints.addDomain,
    domainsShapes.addDomain,
    (ctx, { body }, addresses: readonly string[]) => addDomain(ctx, body, config, addresses),
    { prepare: () => config.addresses() },
  ),
  route(
    domainsEndpoints.verifyDomain,
    domainsShapes.verifyDomain,
    (ctx, { params }, lookup: DomainLookup) => verifyDomain(ctx, { id: params.domain, lookup }, config),
    { prepare: (ctx, { params }) => lookUpDomain(ctx, params.domain, config) },
  ),
];

type OpenedEdge = Awaited<ReturnType<typeof openEdge>>;

export interface EdgeServices {
  edge: OpenedEdge;
  requestsInFlight: OpenedEdge['inFlight']['count'];
  sites: HostHandler;
  console: Console;
  domains: DomainsConfig;
  certificates: CertificateService;
  challengeLookup: ChallengeLookup;
  userTokens: UserTokens;
  sdkPackage: () => Promise<SdkPackage>;
}

type EdgeConfig = Pick<Parameters<typeof openEdge>[0], 'extraHosts' | 'edgeCacheBytes'> & {
  host: string;
  trustedProxies: TrustedProxies;
  acme: Parameters<typeof createCertificates>[0];
  domains: { dns: Parameters<typeof openDns>[0] } & Pick<
    Parameters<typeof openDomainsConfig>[0],
    'edgeAddresses' | 'caaId'
  >;
} & Parameters<typeof secureOrigin>[0];

type EdgeDeps = DriverDeps &
  IdentityServices &
  DeliveryServices & { config: EdgeConfig; https: HttpsServer | null };

export const edge: Module = {
  name: 'edge',
  keys: [certificateKey, acmeAccountKey, userTokenKey],
  async open(deps: EdgeDeps): Promise<EdgeServices> {
    const { config, https, db, log, now, invalidation, metrics, onStop } = deps;
    const certificates = await createCertificates(config.acme, { db, log, operator: () => deps });
    onStop(certificates.stop);
    const domains = openDomainsConfig({
      ...config,
      ...config.domains,
      secureOrigin: ({ host, hasCertificate }) =>
        https && (hasCertificate || https.covers(host)) ? secureOrigin(config, host) : null,
      dns: openDns(config.domains.dns),
      certificates: certificates.certificates,
    });
    const challengeLookup = createChallengeLookup({ db });
    const userTokens = createUserTokens({
      key: await deps.keys.follow(userTokenKey),
      baseUrl: config.baseUrl,
      now,
    });
    const sdkPackage = createSdkPackage();
    const opened = await openEdge({
      ...config,
      ...deps,
      visitors: createVisitors({
        ...config,
        ...deps,
        httpsPort: config.https?.port ?? null,
        cache: createTaggedCache(invalidation, { entriesMax: 20_000, servesInOutage: true }),
      }),
      challengeLookup,
      secureOrigin: (host) => (https?.hasCertificate(host) ? secureOrigin(config, host) : null),
      count: metrics.siteRequest,
      countApp: deps.appMetrics.note,
      tokens: userTokens,
      sleep: appSleep(db, deps.logWaits),
      sdkModule: async () => (await sdkPackage()).module,
    });
    onStop(() => opened.stop());
    return {
      edge: opened,
      requestsInFlight: opened.inFlight.count,
      sites: createSiteHandler({ ...config, edge: opened, count: metrics.siteRequest }),
      console: createConsole({ sources: consoleSources, baseUrl: config.baseUrl }),
      domains,
      certificates,
      challengeLookup,
      userTokens,
      sdkPackage,
    };
  },
  routes: ({ config, domains }: EdgeDeps & EdgeServices) => [
    ...domainRoutes(domains),
    ...visitorRoutes({ ...config, httpsPort: config.https?.port ?? null, findAppAtDomain: findActiveHost }),
  ],
  handlers: (deps: EdgeDeps & EdgeServices) => [
    { matches: deps.console.has, limit: 'own', handle: deps.console.handle },
    { matches: under(explorerPrefix), limit: 'own', handle: createExplorer(deps.config) },
    {
      matches: under(challengePrefix),
      route: 'acme',
      limit: 'own',
      handle: async (request, { pathname: path }) => {
        const { body, ...answer } = await challengeResponse(deps.challengeLookup, {
          method: request.method,
          path,
        });
        return new Response(body as BodyInit | null, answer);
      },
    },
    ...downloadHandlers(deps.config.baseUrl, deps.sdkPackage),
    documentAt(userKeysPath, async () =>
      Response.json(deps.userTokens.publicKeys(), { headers: { 'cache-control': 'public, max-age=300' } }),
    ),
    {
      matches: at(siteAuthPath),
      route: 'login',
      handle: createSiteAuth({
        ...deps.config,
        ...deps,
        httpsPort: deps.config.https?.port ?? null,
        findAppAtDomain: findActiveHost,
      }),
    },
  ],
  effects: (deps: EdgeDeps & EdgeServices) => ({
    [orderTopic]: deps.certificates.order,
    'domains.tellLoss': notifyLoss(() => deps),
  }),
  jobs: (deps: EdgeDeps & EdgeServices) => [
    {
      name: 'domains.check',
      cron: '* * * * *',
      run: async () => void (await checkDomains(deps, deps.domains)),
    },
    { name: 'certificates.order', cron: '* * * * *', run: () => deps.certificates.runDueOrders() },
    { name: 'visits.forget', cron: '*/10 * * * *', run: () => deleteExpiredVisits(deps.db) },
  ],
  subscriptions: () => [
    onApp({
      deleted: async (ctx, app) => {
        const { hosts } = await detachDomains(ctx, app);
        if (hosts.length === 0) return { before: {}, after: {} };
        ctx.warn('Its custom domains are detached, and are to be added again when it is restored.');
        return { before: { domains: hosts }, after: { domains: [] } };
      },
    }),
  ],
  async start({ https, db, log, invalidation, onStop }: EdgeDeps) {
    if (!https) return;
    const load = createCertificateLoader({ db, log });
    const following = await syncCertificates({ listener: https, load, invalidation, log });
    onStop(() => following.stop());
  },
};
