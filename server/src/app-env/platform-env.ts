import { userKeysPath } from '@svc/contract/user-keys.ts';
import { findAppById } from '../apps/find-app-by-id.ts';
import { appHome } from '../identity/app-redirects.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { rawDatabaseEnv } from '../raw-db/raw-database-env.ts';
import { isStorageEnabled } from '../storage/is-storage-enabled.ts';
import { findTenant } from '../tenants/find-tenant.ts';

export interface EnvPlaces {
  baseUrl: string;
  appsDomain: string;
}

export interface EnvOfDeployment extends AppPlace {
  deploymentId: string;
  commit: string | null;
}

export interface PlatformEnv {
  /** For the build: it has no business with the app's rows. */
  build: Record<string, string>;
  /** For the running app. What its owners set themselves goes before this. */
  run: Record<string, string>;
}

/** What the platform gives an app to know about itself; `PORT` and the like are the runtime's. */
export async function platformEnv(
  db: Db,
  { baseUrl, appsDomain }: EnvPlaces,
  { tenantId, appId, deploymentId, commit }: EnvOfDeployment,
): Promise<PlatformEnv> {
  const [app, tenant] = [
    await findAppById({ db }, { id: appId }),
    await findTenant({ db }, { ref: tenantId }),
  ];
  if (app?.tenantId !== tenantId || !tenant) throw fail('not_found');
  const build = {
    SVC_BASE_URL: baseUrl,
    SVC_TENANT: tenant.slug,
    SVC_APP: app.slug,
    SVC_APP_ID: appId,
    ...(app.subdomain === null ? {} : { SVC_APP_URL: appHome({ baseUrl, appsDomain }, app.subdomain) }),
    SVC_DEPLOYMENT_ID: deploymentId,
    ...(commit === null ? {} : { SVC_COMMIT: commit }),
    SVC_USER_KEYS_URL: `${baseUrl}${userKeysPath}`,
    ...((await isStorageEnabled(db, { tenantId, appId }))
      ? { SVC_STORAGE_URL: `${baseUrl}/api/v1/tenants/${tenantId}/apps/${appId}/storage` }
      : {}),
  };
  return { build, run: { ...(await rawDatabaseEnv(db, { tenantId, appId })), ...build } };
}

/** The names alone. */
export async function platformEnvNames(
  db: Db,
  places: EnvPlaces,
  of: Omit<EnvOfDeployment, 'deploymentId'>,
): Promise<string[]> {
  return Object.keys((await platformEnv(db, places, { ...of, deploymentId: '' })).run);
}
