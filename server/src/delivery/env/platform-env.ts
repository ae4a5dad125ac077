import { userKeysPath } from '@svc/contract/user-keys.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import { appUrl } from '../../apps/record/rules.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { rawDatabaseEnv } from '../../data/raw-databases/passwords.ts';
import { isStorageEnabled } from '../../data/storage/storage.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { SiteUrls } from '../static-sites/rules.ts';

export interface EnvTarget extends AppRef {
  deploymentId: string;
  commit: string | null;
}

/** Different for each instance. */
const identityVariables = ['SVC_APP_TOKEN', 'SVC_APP_TOKEN_URL'];

export interface PlatformEnv {
  /** Without access to the app's database. */
  build: Record<string, string>;
  /** Overridden by variables of the app's owners. */
  run: Record<string, string>;
}

/** Without the variables of the runtime, such as `PORT`. */
export async function platformEnv(
  db: Db,
  { baseUrl, appsDomain }: SiteUrls,
  { tenantId, appId, deploymentId, commit }: EnvTarget,
): Promise<PlatformEnv> {
  const app = await findAppById({ db }, { id: appId });
  const tenant = await findTenant({ db }, { ref: tenantId });
  if (app?.tenantId !== tenantId || !tenant) throw fail('not_found');
  const build = {
    SVC_BASE_URL: baseUrl,
    SVC_TENANT: tenant.slug,
    SVC_APP: app.slug,
    SVC_APP_ID: appId,
    SVC_ENVIRONMENT: app.previewOf === null ? 'production' : 'preview',
    ...(app.subdomain === null ? {} : { SVC_APP_URL: appUrl({ baseUrl, appsDomain }, app.subdomain) }),
    SVC_DEPLOYMENT_ID: deploymentId,
    ...(commit === null ? {} : { SVC_COMMIT: commit }),
    SVC_USER_KEYS_URL: `${baseUrl}${userKeysPath}`,
    ...((await isStorageEnabled(db, { tenantId, appId }))
      ? { SVC_STORAGE_URL: `${baseUrl}/api/v1/tenants/${tenantId}/apps/${appId}/storage` }
      : {}),
  };
  return {
    build,
    // Unlike SVC_BASE_URL, SVC_API_URL need not be what people type: the runtime replaces it where a sandbox requires that.
    run: { ...(await rawDatabaseEnv(db, { tenantId, appId })), ...build, SVC_API_URL: baseUrl },
  };
}

/** Which process of the app an instance is, and which instance of it. */
export const instanceVariables = ['SVC_PROCESS', 'SVC_INSTANCE'] as const;

export async function platformEnvNames(db: Db, urls: SiteUrls, target: Omit<EnvTarget, 'deploymentId'>) {
  const { run } = await platformEnv(db, urls, { ...target, deploymentId: '' });
  return [...Object.keys(run), ...instanceVariables, ...identityVariables];
}
