import { checkHealth } from './check-health.ts';
import type { DeploymentParts } from './deployment-parts.ts';
import { type InstanceRow, saveAddress } from './instances-store.ts';
import { healthOf } from './rules.ts';
import { findDeploymentRow } from './store.ts';

/** To an instance that was started again, maybe at another address, once it is well. False: not, or not yet. */
export async function leadBack(
  { db, log, runtime }: Pick<DeploymentParts, 'db' | 'log' | 'runtime'>,
  { id, handle, tenant_id: tenantId, app_id: appId, deployment_id }: InstanceRow,
  signal: AbortSignal,
): Promise<boolean> {
  const row = await findDeploymentRow(db, { tenantId, appId }, deployment_id);
  const address = (await runtime.list()).find(({ instanceId }) => instanceId === id)?.address;
  if (!row || !address) return false;
  const look = () => runtime.look({ instanceId: id, handle: handle ?? {} });
  try {
    await checkHealth({ address, ...healthOf(row), look, signal });
  } catch (error) {
    // Looked at again with the next round, or given up by it.
    log.info({ err: error, app: appId, instance: id }, 'an instance that was started again is not well');
    return false;
  }
  return saveAddress(db, { id, address });
}
