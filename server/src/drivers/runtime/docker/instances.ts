import type { InstanceState, RunningInstance, StartJob } from '../runtime.ts';
import { type DockerDeps, filters, instanceName, labelFilter, labelNames } from './docker-deps.ts';
import {
  type ContainerDetail,
  type ContainerSummary,
  type Engine,
  ignoreMissing,
  type ServiceSummary,
  type TaskSummary,
} from './engine.ts';
import { findAddresses, isSpreadService, readSpreadState } from './spread.ts';

export async function listContainers(engine: Engine, instanceId: string): Promise<ContainerSummary[]> {
  const query = { all: 1, ...labelFilter(labelNames.instance, instanceId) };
  const found = await engine.json<ContainerSummary[]>('GET', '/containers/json', { query });
  // The engine sorts the newest first, by a time more precise than the one it returns.
  return found.reverse();
}

export const inspectContainer = (engine: Engine, id: string) =>
  ignoreMissing(engine.json<ContainerDetail>('GET', `/containers/${id}/json`));

export const isMain = ({ Labels }: ContainerSummary) => labelNames.port in Labels;

export async function listServices(deps: DockerDeps, instanceId: string): Promise<ServiceSummary[]> {
  if (deps.swarmNode === null) return [];
  return deps.engine.json('GET', '/services', { query: labelFilter(labelNames.instance, instanceId) });
}

export async function readState(deps: DockerDeps, instanceId: string): Promise<InstanceState> {
  // A Swarm creates the next container before it starts it.
  const all = (await listContainers(deps.engine, instanceId)).filter(isMain);
  const startedContainers = all.filter(({ State }) => State !== 'created');
  const mains = startedContainers.length > 0 ? startedContainers : all;
  const services = (await listServices(deps, instanceId)).filter(
    ({ Spec }) => labelNames.port in Spec.Labels,
  );
  const spread = services.find(isSpreadService);
  if (spread) return readSpreadState(deps, spread);
  const last = mains.at(-1);
  const detail = last ? await inspectContainer(deps.engine, last.Id) : null;
  const service = services[0];
  if (!detail) {
    if (!service) return { state: 'gone' };
    const [task] = await listTasks(deps.engine, service.ID);
    return { state: 'restarting', restarts: 0, detail: task?.Status.Err ?? 'Starting.' };
  }
  const restarts = service ? mains.length - 1 : detail.RestartCount;
  const { State: state } = detail;
  const leaving = 'Waiting for another instance that uses the same volumes.';
  if (deps.departures.isLeaving(instanceId)) {
    deps.departures.wasSeen(instanceId);
    return { state: 'restarting', restarts, detail: leaving };
  }
  if (state.Running && !state.Restarting)
    return { state: 'running', restarts, ...deps.ports.found(instanceId) };
  const how = deps.diskLimits.reason(instanceId) ?? describeEnd(detail);
  if (last && !state.Restarting && (await isWaitingForVolumes(deps, last)))
    return { state: 'restarting', restarts, detail: leaving };
  if (state.Restarting || (service && (await isDesired(deps.engine, service.ID))))
    return { state: 'restarting', restarts, detail: `The app ${how}.` };
  return { state: 'failed', restarts, detail: `The app ${how}; it is not restarted.` };
}

export function describeEnd({ State: { OOMKilled, ExitCode, Error: error } }: ContainerDetail): string {
  if (OOMKilled) return 'ran out of memory';
  if (error) return `could not be started: ${error}`;
  return `ended with exit code ${ExitCode}`;
}

async function listTasks(engine: Engine, serviceId: string): Promise<TaskSummary[]> {
  const tasks = await engine.json<TaskSummary[]>('GET', '/tasks', {
    query: filters({ service: [serviceId] }),
  });
  return tasks.sort((one, other) => other.CreatedAt.localeCompare(one.CreatedAt));
}

const isDesired = async (engine: Engine, serviceId: string) =>
  (await listTasks(engine, serviceId)).some(({ DesiredState }) =>
    ['running', 'ready'].includes(DesiredState),
  );

export async function listInstances(deps: DockerDeps): Promise<RunningInstance[]> {
  const query = labelFilter(labelNames.installation, deps.installation);
  const containers = await deps.engine.json<ContainerSummary[]>('GET', '/containers/json', {
    query: { all: 1, ...query },
  });
  const services =
    deps.swarmNode === null ? [] : await deps.engine.json<ServiceSummary[]>('GET', '/services', { query });
  const forwarded = new Set(
    containers.flatMap(({ Labels, State }) => (State === 'running' && Labels[labelNames.helper]) || []),
  );
  const addressOf = services.some(isSpreadService) ? await findAddresses(deps) : null;
  const spread = new Map(
    services.map(
      (service) => [service.Spec.Labels[labelNames.instance] ?? '', addressOf?.(service)] as const,
    ),
  );
  const found = new Map<string, RunningInstance>();
  for (const labels of [
    ...containers.map(({ Labels }) => Labels),
    ...services.map(({ Spec }) => Spec.Labels),
  ]) {
    const instanceId = labels[labelNames.run] === undefined ? labels[labelNames.instance] : undefined;
    const port = labels[labelNames.port];
    if (instanceId === undefined || (port === undefined && found.has(instanceId))) continue;
    found.set(instanceId, {
      instanceId,
      handle: { name: instanceName(instanceId) },
      appId: labels[labelNames.app] ?? '',
      deploymentId: labels[labelNames.deployment] ?? '',
      address:
        spread.get(instanceId) ??
        deps.ports.found(instanceId).address ??
        `${deps.publish.host}:${(forwarded.has(instanceId) && forwardOf(labels)) || (port ?? 0)}`,
    });
  }
  return [...found.values()];
}

const forwardOf = (labels: Record<string, string>) => labels[labelNames.forward]?.split(':')[0];

interface Stats {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: Record<string, number> };
}

export async function readUsage(
  { engine }: DockerDeps,
  instanceId: string,
): Promise<{ cpuMs: number; memoryBytes: number } | null> {
  const running = (await listContainers(engine, instanceId)).filter(({ State }) => State === 'running');
  const all = await Promise.all(
    running.map(({ Id }) =>
      ignoreMissing(
        engine.json<Stats>('GET', `/containers/${Id}/stats`, {
          query: { stream: 'false', 'one-shot': 'true' },
        }),
      ),
    ),
  );
  const found = all.filter((stats) => stats?.memory_stats?.usage !== undefined);
  if (found.length === 0) return null;
  const sum = (of: (stats: Stats) => number) =>
    found.reduce((total, stats) => total + (stats ? of(stats) : 0), 0);
  return {
    cpuMs: Math.round(sum(({ cpu_stats }) => cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e6),
    // Without the kernel's inactive file cache.
    memoryBytes: sum(({ memory_stats: memory }) => {
      const idle = memory?.stats?.total_inactive_file ?? memory?.stats?.inactive_file ?? 0;
      return Math.max(0, (memory?.usage ?? 0) - idle);
    }),
  };
}

const graceSeconds = 10;

/**
 * Two databases would corrupt a shared volume, so the previous deployment stops; it resumes if its successor
 * is removed. The returned function is called once there is a successor: until then it does not count as failed.
 */
export async function stopOtherDeployments(deps: DockerDeps, job: StartJob): Promise<() => void> {
  const others = (await listAppContainers(deps, job.appId)).filter(
    ({ Labels, State }) =>
      Labels[labelNames.instance] !== job.instanceId && State === 'running' && !(labelNames.review in Labels),
  );
  if (others.length === 0) return () => {};
  job.log(
    'platform',
    'The app has volumes, which only one deployment can use: stopping the previous deployment first.',
  );
  // First the edge stops routing to it, so that visitors get a retry response instead of a connection error.
  const instances = [
    ...new Set(others.filter(isInstance).map(({ Labels }) => Labels[labelNames.instance] ?? '')),
  ];
  const left = await Promise.all(instances.map((id) => deps.departures.leave(id)));
  const over = () => {
    for (const end of left) end();
  };
  const stopped = others.map(({ Id }) =>
    ignoreMissing(
      deps.engine.send('POST', `/containers/${Id}/stop`, { query: { t: graceSeconds }, timeoutMs: 60_000 }),
    ),
  );
  await Promise.all(stopped).catch((error: unknown) => {
    over();
    throw error;
  });
  return over;
}

async function isWaitingForVolumes(deps: DockerDeps, { Labels }: ContainerSummary): Promise<boolean> {
  const app = Labels[labelNames.app];
  if (app === undefined || Labels['com.docker.compose.project'] === undefined) return false;
  const all = (await listAppInstances(deps, app)).filter((it) => !(labelNames.review in it.Labels));
  return all.some((other) => isOtherInstance(other, Labels));
}

export async function resumeWaiting(deps: DockerDeps, removed: ContainerSummary[]): Promise<void> {
  const found = removed.find(({ Labels }) => 'com.docker.compose.project' in Labels);
  const app = found?.Labels[labelNames.app];
  if (app === undefined || !found || !isInstance(found) || labelNames.review in found.Labels) return;
  const left = (await listAppInstances(deps, app)).filter((it) => !(labelNames.review in it.Labels));
  const newest = left[0]?.Labels[labelNames.instance];
  for (const { Id, State, Labels } of left.reverse())
    if (State === 'exited' && Labels[labelNames.instance] === newest)
      await ignoreMissing(deps.engine.send('POST', `/containers/${Id}/start`));
}

const isOtherInstance = (other: ContainerSummary, own: Record<string, string>) =>
  other.Labels[labelNames.instance] !== own[labelNames.instance];

/** Not a one-off command, nor a service that runs for one. */
const isInstance = ({ Labels }: ContainerSummary) => !(labelNames.run in Labels);

/** The newest first. */
export const listAppInstances = async (deps: DockerDeps, appId: string) =>
  (await listAppContainers(deps, appId)).filter(isInstance);

const listAppContainers = (deps: DockerDeps, appId: string) =>
  deps.engine.json<ContainerSummary[]>('GET', '/containers/json', {
    query: { all: 1, ...labelFilter(labelNames.app, appId) },
  });
