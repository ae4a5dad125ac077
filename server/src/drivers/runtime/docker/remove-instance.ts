import { type DockerDeps, filters, instanceName, labelNames } from './docker-deps.ts';
import { type Engine, ignoreMissing, type ServiceSummary, type TaskSummary } from './engine.ts';
import { listContainers, listServices, resumeWaiting } from './instances.ts';

const goneMsMax = 30_000;
const taskMsMax = 5_000;

/** Containers of a Swarm are stopped first too, because the Swarm would remove them with their logs. */
export async function removeInstance(
  deps: DockerDeps,
  instanceId: string,
  options: { graceMs: number; afterEnd: () => Promise<void> },
): Promise<void> {
  const { engine } = deps;
  const t = Math.max(1, Math.ceil(options.graceMs / 1_000));
  const containers = await listContainers(engine, instanceId);
  await Promise.all(
    containers.map(({ Id }) =>
      ignoreMissing(
        engine.send('POST', `/containers/${Id}/stop`, { query: { t }, timeoutMs: t * 1_000 + goneMsMax }),
      ),
    ),
  );
  await options.afterEnd();
  const services = await listServices(deps, instanceId);
  for (const { ID } of services) await ignoreMissing(engine.send('DELETE', `/services/${ID}`));
  const startedAt = Date.now();
  const deadline = startedAt + goneMsMax;
  for (;;) {
    const left = await listContainers(engine, instanceId);
    // A restart that had begun creates a container even now.
    const isOver = Date.now() - startedAt > taskMsMax || !(await hasTask(deps, services));
    if (left.length === 0 && isOver) break;
    for (const { Id } of left)
      await ignoreMissing(engine.send('DELETE', `/containers/${Id}`, { query: { force: 1, v: 1 } })).catch(
        (error: unknown) => {
          if (Date.now() > deadline) throw error;
        },
      );
    if (Date.now() > deadline) throw new Error(`Instance ${instanceId} could not be removed.`);
    await Bun.sleep(20);
  }
  await removeNetworks(deps, instanceId);
  await removeVolumes(deps, instanceId);
  await resumeWaiting(deps, containers);
}

/** On this node: on others, the Swarm removes what is left. */
async function hasTask(
  { engine, swarmNode }: DockerDeps,
  services: readonly ServiceSummary[],
): Promise<boolean> {
  if (services.length === 0) return false;
  const tasks = await engine.json<TaskSummary[]>('GET', '/tasks');
  return tasks.some(
    ({ ServiceID, NodeID }) => NodeID === swarmNode && services.some(({ ID }) => ID === ServiceID),
  );
}

/** Only a build in review has volumes of its own. */
async function removeVolumes({ engine }: DockerDeps, instanceId: string): Promise<void> {
  const query = filters({ label: [`${labelNames.instance}=${instanceId}`] });
  const { Volumes } = await engine.json<{ Volumes: { Name: string }[] | null }>('GET', '/volumes', { query });
  for (const { Name } of Volumes ?? []) await ignoreMissing(engine.send('DELETE', `/volumes/${Name}`));
}

async function removeNetworks({ engine }: DockerDeps, instanceId: string): Promise<void> {
  const project = instanceName(instanceId);
  for (const label of [
    `com.docker.compose.project=${project}`,
    `com.docker.stack.namespace=${project}`,
    `${labelNames.instance}=${instanceId}`,
  ]) {
    const query = filters({ label: [label] });
    const deadline = Date.now() + goneMsMax;
    for (;;) {
      const left = await engine.json<{ Id: string }[]>('GET', '/networks', { query });
      if (left.length === 0) break;
      // A Swarm detaches tasks from a network with a delay.
      for (const { Id } of left) {
        await disconnectCommands(engine, Id);
        await ignoreMissing(engine.send('DELETE', `/networks/${Id}`)).catch((error: unknown) => {
          if (Date.now() > deadline) throw error;
        });
      }
      await Bun.sleep(50);
    }
  }
}

/** A command of a compose app may run longer than the services that it started beside. */
async function disconnectCommands(engine: Engine, network: string): Promise<void> {
  const found = await ignoreMissing(
    engine.json<{ Containers?: Record<string, unknown> }>('GET', `/networks/${network}`),
  );
  for (const id of Object.keys(found?.Containers ?? {}))
    await ignoreMissing(
      engine.send('POST', `/networks/${network}/disconnect`, { body: { Container: id, Force: true } }),
    ).catch(() => {});
}
