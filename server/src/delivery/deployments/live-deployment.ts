import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { checkHealth } from './check-health.ts';
import type { DeploymentDeps } from './deps.ts';
import { confirmedSeconds, type InstanceRow, saveAddress } from './instances-store.ts';
import { healthSettings } from './rules.ts';
import {
  type DeploymentRow,
  findDeploymentOfRelease,
  findDeploymentRow,
  findLiveDeploymentRow,
} from './store.ts';

/** Routes requests to an instance again once it is healthy, after a restart or at another address. */
export async function restoreAddress(
  { db, log, runtime }: Pick<DeploymentDeps, 'db' | 'log' | 'runtime'>,
  { id, handle, tenant_id: tenantId, app_id: appId, deployment_id }: InstanceRow,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await findDeploymentRow(db, { tenantId, appId }, deployment_id);
  let address = (await runtime.list()).find(({ instanceId }) => instanceId === id)?.address;
  if (!row || !address) return false;
  const getState = () => runtime.getState({ instanceId: id, handle: handle ?? {} });
  try {
    address = await checkHealth({ address, ...healthSettings(row), getState, signal });
  } catch (error) {
    // The next round checks it again or replaces it.
    log.info({ err: error, app: appId, instance: id }, 'instance is not healthy');
    return false;
  }
  return saveAddress(db, { id, address });
}

/** For other slices, which must not import the store. */
export const findLiveDeployment: typeof findLiveDeploymentRow = findLiveDeploymentRow;
export const findReleaseDeployment: typeof findDeploymentOfRelease = findDeploymentOfRelease;
export const findDeployment: typeof findDeploymentRow = findDeploymentRow;

/** The live deployment that responds instead of the app's site. */
export async function findLiveProcess(
  db: Db,
  appRef: AppRef,
): Promise<Pick<DeploymentRow, 'method'> | undefined> {
  const live = await findLiveDeploymentRow(db, appRef);
  return live?.method === 'static' ? undefined : live;
}

export interface LiveInstances {
  deploymentId: string;
  addresses: string[];
}

/** Null for sites and for apps that do not run. Cached under the app's tag. */
export async function findLiveInstances(db: Db, appId: string): Promise<LiveInstances | null> {
  const { rows } = await sql<LiveInstances>`
    select d.id as "deploymentId", array(
      select i.address from svc.app_instances i
      where i.deployment_id = d.id and i.state = 'ready' and i.address is not null
        and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds})
      order by i.started_at) as addresses
    from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
    where a.id = ${appId} and a.record = 'active' and a.runtime = 'running' and d.method <> 'static'`.execute(
    db,
  );
  return rows[0] ?? null;
}
