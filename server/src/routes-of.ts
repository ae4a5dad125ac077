import { accessPolicyRoutes } from './access-policies/routes.ts';
import { appEnvRoutes } from './app-env/routes.ts';
import { appMetricsRoutes } from './app-metrics/routes.ts';
import { appLifeRoutes } from './apps/life-routes.ts';
import { ownerRoutes } from './apps/owner-routes.ts';
import { appRoutesAt } from './apps/routes.ts';
import type { BootstrapParts } from './bootstrap/bootstrap-parts.ts';
import { bootstrapRoutes } from './bootstrap/routes.ts';
import { categoryRoutes } from './categories/routes.ts';
import type { Config } from './config.ts';
import { connectorRoutes } from './connectors/routes.ts';
import { deploymentRoutes } from './deployments/routes.ts';
import { detectRoutes } from './detect/routes.ts';
import type { DomainsPlace } from './domains/domains-place.ts';
import { findActiveHost } from './domains/find-active-host.ts';
import { domainRoutes } from './domains/routes.ts';
import type { ObjectStore } from './drivers/object-store/object-store.ts';
import type { RawDatabases } from './drivers/raw-database/raw-databases.ts';
import type { Runtime } from './drivers/runtime/runtime.ts';
import type { GitParts } from './git-connections/git-parts.ts';
import { gitConnectionRoutes } from './git-connections/routes.ts';
import { grantRoutes } from './grants/routes.ts';
import { iconRoutes } from './icons/routes.ts';
import { inspectionRoutes } from './inspection/routes.ts';
import type { LogWaits } from './logs/log-waits.ts';
import { logRoutes } from './logs/routes.ts';
import { meRoutes } from './me/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { patRoutes } from './pats/routes.ts';
import type { Route } from './plumbing/route.ts';
import { presetRoutes } from './presets/routes.ts';
import { rawDbRoutes } from './raw-db/routes.ts';
import { resourcePresetRoutes } from './resource-presets/routes.ts';
import { reviewRoutes } from './review/routes.ts';
import { documentRoutes } from './rows/document-routes.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { sourceRoutes } from './sources/routes.ts';
import { staticSiteRoutes } from './static-sites/routes.ts';
import { storageRoutes } from './storage/routes.ts';
import { tableRoutes } from './tables/routes.ts';
import { ownTemplateRoutes, templateRoutes } from './templates/routes.ts';
import { tenantRoutes } from './tenants/routes.ts';
import { visitorRoutes } from './visitors/routes.ts';

/** Every route of the control plane; a slice is added here and nowhere else. */
export const routesOf = ({
  baseUrl,
  appsDomain,
  raw,
  urlKey,
  domains,
  git,
  bootstrap,
  https,
  runtime,
  logWaits,
  objects,
}: Pick<Config, 'baseUrl' | 'appsDomain'> & {
  https?: Config['https'];
  raw: RawDatabases;
  urlKey: string;
  domains: DomainsPlace;
  git: GitParts;
  bootstrap: BootstrapParts;
  runtime: Pick<Runtime, 'refuses' | 'kind'>;
  logWaits: LogWaits;
  objects: ObjectStore;
}): readonly Route[] => [
  ...meRoutes,
  ...sessionRoutes,
  ...patRoutes,
  ...tenantRoutes,
  ...notificationRoutes,
  ...connectorRoutes,
  ...presetRoutes,
  ...grantRoutes,
  ...accessPolicyRoutes,
  ...appRoutesAt({ baseUrl, appsDomain }),
  ...appMetricsRoutes,
  ...appLifeRoutes({ runtime }),
  ...categoryRoutes,
  ...resourcePresetRoutes,
  ...templateRoutes,
  ...ownerRoutes,
  ...inspectionRoutes,
  ...tableRoutes,
  ...storageRoutes({ baseUrl, urlKey }),
  ...staticSiteRoutes({ baseUrl, appsDomain, urlKey, objects }),
  ...rawDbRoutes({ raw }),
  ...iconRoutes({ baseUrl, key: urlKey }),
  ...documentRoutes({ baseUrl }),
  ...domainRoutes(domains),
  ...gitConnectionRoutes(git),
  ...deploymentRoutes({ baseUrl, appsDomain, runtime }),
  ...appEnvRoutes({ baseUrl, appsDomain, runtime }),
  ...logRoutes({ baseUrl, appsDomain, waits: logWaits, now: () => new Date() }),
  ...sourceRoutes({ baseUrl, urlKey }),
  ...detectRoutes(git),
  ...ownTemplateRoutes(git),
  ...bootstrapRoutes(bootstrap),
  ...reviewRoutes(bootstrap),
  ...visitorRoutes({ baseUrl, appsDomain, httpsPort: https?.port ?? null, appAtDomain: findActiveHost }),
];
