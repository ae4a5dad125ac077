import type { InstanceRef } from '../drivers/runtime/runtime.ts';
import { appOfDeployment } from './app-of-deployment.ts';
import { checkHealth } from './check-health.ts';
import { DeploymentFailure } from './deployment-failure.ts';
import type { DeploymentParts, OpenLog } from './deployment-parts.ts';
import { deleteInstanceRow, type InstanceRow, saveStarted } from './instances-store.ts';
import { healthOf } from './rules.ts';
import { secretsOf } from './secrets-of.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';
import { unlessAborted } from './unless-aborted.ts';

/** What this copy of the server runs. A row says that an instance is meant to be; this makes it so. */
export interface Instances {
  /** Being started by this very copy: nobody else is to judge them. */
  isStarting(id: string): boolean;
  /** For a row that stands as `starting`: started, and healthy. Where it fails, nothing of it is left, the row included. */
  bringUp(id: string, row: DeploymentRow, signal: AbortSignal): Promise<void>;
  /** Takes up the log of one that a server before this one has started, where instances outlive servers. */
  hear(instance: InstanceRow): Promise<void>;
  /** Ends it, then its row. One that is not there is no error. */
  end(instance: Pick<InstanceRow, 'id' | 'handle'>): Promise<void>;
  /** Ends what has no row. */
  endStray(instance: InstanceRef): Promise<void>;
  close(): Promise<void>;
}

/** What an app that is asked to end is given before it is ended. */
const graceMs = 10_000;

export function createInstances(
  parts: Pick<DeploymentParts, 'db' | 'log' | 'runtime' | 'logs' | 'environment'>,
): Instances {
  const { db, runtime } = parts;
  const starting = new Set<string>();
  const ending = new Map<string, Promise<void>>();
  const logs = new Map<string, OpenLog>();

  async function start(id: string, row: DeploymentRow, signal: AbortSignal) {
    const { tenant_id: tenantId, app_id: appId, id: deploymentId, artifact, start_with } = row;
    if (!artifact) throw new DeploymentFailure('internal', 'start', 'What was built is not there.');
    if (row.runtime !== runtime.kind)
      throw new DeploymentFailure(
        'runtime_unsupported',
        'start',
        'It was built for another runtime: deploy it anew.',
      );
    const app = await appOfDeployment(db, { tenantId, appId });
    const own = await parts.environment.own(row);
    const given = await parts.environment.given(row, 'run');
    const secrets = secretsOf({ ...own, ...given });
    await logs.get(id)?.close();
    const log = parts.logs.open({ appId, deploymentId, source: 'app', secrets });
    logs.set(id, log);
    return runtime.start({
      ...{ instanceId: id, tenantId, appId, deploymentId, number: app.number, limits: app.limits },
      ...{ method: row.method, artifact, log: log.sink, signal },
      // What the owners have set goes before what the platform gives.
      env: { ...start_with?.env, ...(runtime.seenFromInside?.(given) ?? given), ...own },
    });
  }

  async function closeLog(id: string): Promise<void> {
    const log = logs.get(id);
    logs.delete(id);
    await log?.close();
  }

  async function stop(instance: InstanceRef): Promise<void> {
    await runtime.stop(instance, { graceMs });
    await closeLog(instance.instanceId);
  }

  /** Once, however many ask for it while it is being done. */
  function once(id: string, end: () => Promise<void>): Promise<void> {
    const under = ending.get(id) ?? end().finally(() => ending.delete(id));
    ending.set(id, under);
    return under;
  }

  const endInstance: Instances['end'] = ({ id, handle }) =>
    once(id, async () => {
      await stop({ instanceId: id, handle: handle ?? {} });
      await deleteInstanceRow(db, id);
    });

  async function hear({ id, handle, tenant_id: tenantId, app_id: appId, deployment_id }: InstanceRow) {
    if (!runtime.hear || logs.has(id) || starting.has(id) || ending.has(id)) return;
    const row = await findDeploymentRow(db, { tenantId, appId }, deployment_id);
    if (!row) return;
    const variables = {
      ...(await parts.environment.own(row)),
      ...(await parts.environment.given(row, 'run')),
    };
    const secrets = secretsOf(variables);
    if (logs.has(id)) return;
    const log = parts.logs.open({ appId, deploymentId: deployment_id, source: 'app', secrets });
    logs.set(id, log);
    await runtime.hear({ instanceId: id, handle: handle ?? {} }, log.sink);
  }

  return {
    isStarting: (id) => starting.has(id),
    hear,
    end: endInstance,
    endStray: (instance) => once(instance.instanceId, () => stop(instance)),
    async bringUp(id, row, signal) {
      starting.add(id);
      let handle: InstanceRef['handle'] = {};
      try {
        const started = await unlessAborted(start(id, row, signal), signal);
        handle = started.handle;
        if (!(await saveStarted(db, { id, ...started })))
          throw new DeploymentFailure('internal', 'start', 'It was stopped while it was started.');
        const { path, timeoutMs } = healthOf(row);
        const look = () => runtime.look({ instanceId: id, handle });
        await checkHealth({ address: started.address, path, timeoutMs, look, signal });
      } catch (error) {
        await endInstance({ id, handle }).catch((cause: unknown) =>
          parts.log.warn({ err: cause, instance: id }, 'could not end an instance'),
        );
        throw error;
      } finally {
        starting.delete(id);
      }
    },
    async close() {
      await Promise.allSettled([...ending.values()]);
      await Promise.allSettled([...logs.keys()].map(closeLog));
    },
  };
}
