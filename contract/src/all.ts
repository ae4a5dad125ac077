import { z } from 'zod';
import * as accessLogShapes from './access-log.shapes.ts';
import * as accessLog from './access-log.ts';
import * as accessPolicyShapes from './access-policies.shapes.ts';
import * as accessPolicies from './access-policies.ts';
import * as accessPreviewShapes from './access-preview.shapes.ts';
import * as accessPreview from './access-preview.ts';
import * as accessRequestShapes from './access-requests.shapes.ts';
import * as accessRequests from './access-requests.ts';
import * as appLifeShapes from './app-life.shapes.ts';
import * as appLife from './app-life.ts';
import * as appListShapes from './app-lists.shapes.ts';
import * as appLists from './app-lists.ts';
import * as appMetricShapes from './app-metrics.shapes.ts';
import * as appMetrics from './app-metrics.ts';
import * as appRoleShapes from './app-roles.shapes.ts';
import * as appRoles from './app-roles.ts';
import * as appShapes from './apps.shapes.ts';
import * as apps from './apps.ts';
import * as bootstrapShapes from './bootstrap.shapes.ts';
import * as bootstrap from './bootstrap.ts';
import * as categoryShapes from './categories.shapes.ts';
import * as categories from './categories.ts';
import * as connectorShapes from './connectors.shapes.ts';
import * as connectors from './connectors.ts';
import * as declaredTableShapes from './declared-tables.shapes.ts';
import * as declaredTables from './declared-tables.ts';
import * as deploymentShapes from './deployments.shapes.ts';
import * as deployments from './deployments.ts';
import * as domainShapes from './domains.shapes.ts';
import * as domains from './domains.ts';
import type { Endpoint, Shape } from './endpoint.ts';
import * as factorShapes from './factors.shapes.ts';
import * as factors from './factors.ts';
import * as fileShapes from './files.shapes.ts';
import * as files from './files.ts';
import * as gitConnectionShapes from './git-connections.shapes.ts';
import * as gitConnections from './git-connections.ts';
import * as gitHostShapes from './git-host.shapes.ts';
import * as gitHost from './git-host.ts';
import * as grantRequestShapes from './grant-requests.shapes.ts';
import * as grantRequests from './grant-requests.ts';
import * as grantShapes from './grants.shapes.ts';
import * as grants from './grants.ts';
import * as groupShapes from './groups.shapes.ts';
import * as groups from './groups.ts';
import * as iconShapes from './icons.shapes.ts';
import * as icons from './icons.ts';
import * as identityShapes from './identity.shapes.ts';
import * as identity from './identity.ts';
import * as inspectionShapes from './inspection.shapes.ts';
import * as inspection from './inspection.ts';
import * as notificationShapes from './notifications.shapes.ts';
import * as notifications from './notifications.ts';
import * as ownerShapes from './owners.shapes.ts';
import * as owners from './owners.ts';
import * as peopleShapes from './people.shapes.ts';
import * as people from './people.ts';
import * as presetShapes from './presets.shapes.ts';
import * as presets from './presets.ts';
import * as previewShapes from './previews.shapes.ts';
import * as previews from './previews.ts';
import * as rawDbShapes from './raw-db.shapes.ts';
import * as rawDb from './raw-db.ts';
import * as resourcePresetShapes from './resource-presets.shapes.ts';
import * as resourcePresets from './resource-presets.ts';
import * as reviewShapes from './review.shapes.ts';
import * as review from './review.ts';
import * as rowShapes from './rows-endpoints.shapes.ts';
import * as rows from './rows-endpoints.ts';
import * as runShapes from './runs.shapes.ts';
import * as runs from './runs.ts';
import * as serviceAccountShapes from './service-accounts.shapes.ts';
import * as serviceAccounts from './service-accounts.ts';
import * as siteConfigShapes from './site-config.shapes.ts';
import * as staticSiteShapes from './static-sites.shapes.ts';
import * as staticSites from './static-sites.ts';
import * as storageShapes from './storage.shapes.ts';
import * as storage from './storage.ts';
import * as tableShapes from './tables.shapes.ts';
import * as tables from './tables.ts';
import * as templateShapes from './templates.shapes.ts';
import * as templates from './templates.ts';
import * as tenantShapes from './tenants.shapes.ts';
import * as tenants from './tenants.ts';

export interface ContractEntry {
  name: string;
  endpoint: Endpoint;
  shape: Shape;
}

const controlPlane: readonly [endpoints: Record<string, unknown>, shapes: Record<string, unknown>][] = [
  [identity, identityShapes],
  [factors, factorShapes],
  [tenants, tenantShapes],
  [groups, groupShapes],
  [notifications, notificationShapes],
  [connectors, connectorShapes],
  [presets, presetShapes],
  [grants, grantShapes],
  [grantRequests, grantRequestShapes],
  [accessLog, accessLogShapes],
  [accessPolicies, accessPolicyShapes],
  [accessPreview, accessPreviewShapes],
  [apps, appShapes],
  [appLife, appLifeShapes],
  [appLists, appListShapes],
  [appMetrics, appMetricShapes],
  [categories, categoryShapes],
  [resourcePresets, resourcePresetShapes],
  [templates, templateShapes],
  [owners, ownerShapes],
  [appRoles, appRoleShapes],
  [accessRequests, accessRequestShapes],
  [serviceAccounts, serviceAccountShapes],
  [inspection, inspectionShapes],
  [tables, tableShapes],
  [declaredTables, declaredTableShapes],
  [storage, storageShapes],
  [staticSites, staticSiteShapes],
  [rawDb, rawDbShapes],
  [icons, iconShapes],
  [domains, domainShapes],
  [deployments, deploymentShapes],
  [runs, runShapes],
  [previews, previewShapes],
  [gitHost, gitHostShapes],
  [gitConnections, gitConnectionShapes],
  [bootstrap, bootstrapShapes],
  [review, reviewShapes],
];

export const contract: readonly ContractEntry[] = controlPlane.flatMap(([endpoints, shapes]) =>
  pair(endpoints, shapes),
);

export const resourceNames: ReadonlyMap<z.ZodType, string> = new Map(
  [...controlPlane.map(([, shapes]) => shapes), siteConfigShapes, peopleShapes, fileShapes].flatMap(
    (shapes) =>
      Object.entries(shapes).flatMap(([name, value]): [z.ZodType, string][] =>
        /^[A-Z]/.test(name) && value instanceof z.ZodType ? [[value, name]] : [],
      ),
  ),
);

export const rowContract: readonly ContractEntry[] = pair(rows, rowShapes);
/** Served by the row path, but not of a table. */
export const peopleContract: readonly ContractEntry[] = [
  ...pair(people, peopleShapes),
  ...pair(files, fileShapes),
];

function pair(nouns: Record<string, unknown>, shapes: Record<string, unknown>): ContractEntry[] {
  return Object.entries(nouns)
    .filter((entry): entry is [string, Endpoint] => isEndpoint(entry[1]))
    .map(([name, endpoint]) => {
      const shape = shapes[name];
      if (!isShape(shape)) throw new Error(`${endpoint.id} has no shape named ${name}.`);
      return { name, endpoint, shape };
    });
}

function isEndpoint(value: unknown): value is Endpoint {
  return (
    typeof value === 'object' &&
    value !== null &&
    'method' in value &&
    'path' in value &&
    'authority' in value
  );
}

function isShape(value: unknown): value is Shape {
  return typeof value === 'object' && value !== null && 'answer' in value;
}
