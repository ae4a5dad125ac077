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

interface EnvTarget extends AppRef {
  deploymentId: string;
  commit: string | null;
}

const identityVariables = ['SVC_APP_TOKEN', 'SVC_APP_TOKEN_URL'];

export async function platformEnv(
  db: Db,
  { baseUrl, appsDomain }: SiteUrls,
  { tenantId, appId, deploymentId, commit }: EnvTarget,
): Promise<{ build: Record<string, string>; run: Record<string, string> }> {
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

const instanceVariables = ['SVC_PROCESS', 'SVC_INSTANCE'] as const;

export async function platformEnvNames(db: Db, urls: SiteUrls, target: Omit<EnvTarget, 'deploymentId'>) {
  const { run } = await platformEnv(db, urls, { ...target, deploymentId: '' });
  return [...Object.keys(run), ...instanceVariables, ...identityVariables];
}

interface FrameworkEnv {
  build: Readonly<Record<string, string>>;
  run: Readonly<Record<string, string>>;
}

/** Adapters of frameworks read these to choose a form of server, and to know the URL of the app behind a proxy. */
const frameworks: Readonly<Record<string, (url: string | undefined) => FrameworkEnv>> = {
  sveltekit: (url) => ({
    // With this, adapter-auto builds a server for Node.js.
    build: { GCP_BUILDPACKS: 'svc' },
    run: {
      ...(url === undefined ? {} : { ORIGIN: url }),
      PROTOCOL_HEADER: 'x-forwarded-proto',
      HOST_HEADER: 'x-forwarded-host',
      ADDRESS_HEADER: 'x-forwarded-for',
    },
  }),
  nuxt: () => ({ build: { NITRO_PRESET: 'node-server' }, run: {} }),
  nextjs: () => ({ build: { NEXT_TELEMETRY_DISABLED: '1' }, run: { NEXT_TELEMETRY_DISABLED: '1' } }),
  astro: () => ({ build: { ASTRO_TELEMETRY_DISABLED: '1' }, run: {} }),
  rails: () => ({
    build: { RAILS_ENV: 'production' },
    run: { RAILS_ENV: 'production', RAILS_SERVE_STATIC_FILES: '1', RAILS_LOG_TO_STDOUT: '1' },
  }),
  python: () => ({
    // Python buffers output otherwise, so that lines are in the log only when the app ends.
    build: { PYTHONUNBUFFERED: '1' },
    // uvicorn and gunicorn then take address and scheme of the visitor from the headers, which only the platform can set.
    run: { PYTHONUNBUFFERED: '1', FORWARDED_ALLOW_IPS: '*' },
  }),
};

export function frameworkEnv(
  framework: string | null | undefined,
  { SVC_APP_URL }: Readonly<Record<string, string>>,
): FrameworkEnv {
  return frameworks[framework ?? '']?.(SVC_APP_URL?.replace(/\/$/, '')) ?? { build: {}, run: {} };
}
