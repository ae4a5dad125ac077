import type { StartJob } from '../../drivers/runtime/runtime.ts';
import { frameworkEnv } from '../env/framework-env.ts';
import { secretValues } from './build-deployment.ts';
import { DeploymentFailure } from './claimed-work.ts';
import { loadDeployedApp } from './deployment-record.ts';
import type { DeploymentDeps } from './deps.ts';
import type { DeploymentRow } from './store.ts';

const serviceVariables = [
  'DATABASE_URL',
  'SVC_API_URL',
  'SVC_APP_TOKEN_URL',
  'SVC_USER_KEYS_URL',
  'SVC_STORAGE_URL',
];

type RunSettings = Omit<StartJob, 'instanceId' | 'log' | 'signal'> & { secrets: string[] };

/** For all that runs in the build of a deployment: instances, its release command and one-off commands. */
export async function loadRunSettings(
  { db, runtime, environment, builds }: Pick<DeploymentDeps, 'db' | 'runtime' | 'environment' | 'builds'>,
  row: DeploymentRow,
  identity: Readonly<Record<string, string>>,
): Promise<RunSettings> {
  const { tenant_id: tenantId, app_id: appId, id: deploymentId, artifact, start_with } = row;
  if (!artifact) throw new DeploymentFailure('internal', 'start', 'The artifact does not exist.');
  if (row.runtime !== runtime.kind)
    throw new DeploymentFailure(
      'runtime_unsupported',
      'start',
      'It was built for another runtime: deploy again.',
    );
  await builds?.fetch(row);
  const app = await loadDeployedApp(db, { tenantId, appId });
  const own = await environment.own(row);
  const given = { ...(await environment.platform(row, 'run')), ...identity };
  const platform = runtime.adaptVariables?.(given) ?? given;
  return {
    tenantId,
    appId,
    deploymentId,
    number: app.number,
    limits: app.limits,
    method: row.method,
    artifact,
    env: { ...frameworkEnv(start_with?.framework, given).run, ...start_with?.env, ...platform, ...own },
    services: serviceVariables.flatMap((name) => platform[name] ?? []),
    secrets: secretValues({ ...own, ...platform }),
  };
}
