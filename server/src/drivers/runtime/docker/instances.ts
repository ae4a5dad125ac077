import type { InstanceState, Running } from '../runtime.ts';
import { hasMadeRoom } from './compose/make-room.ts';
import { type Engine, unlessGone } from './engine.ts';
import type { ContainerDetail, ContainerSummary, ServiceSummary, TaskSummary } from './engine-shapes.ts';
import { filters, instanceName, labelled, labelNames } from './labels.ts';
import type { Parts } from './parts.ts';

/** Whatever an instance is made of (a container, tasks of a service, a compose app), its containers bear its id. The oldest first. */
export async function containersOf(engine: Engine, instanceId: string): Promise<ContainerSummary[]> {
  const query = { all: 1, ...labelled(labelNames.instance, instanceId) };
  const found = await engine.json<ContainerSummary[]>('GET', '/containers/json', { query });
  // The engine names the newest first, by a time finer than the seconds that it tells.
  return found.reverse();
}

export const detailOf = (engine: Engine, id: string) =>
  unlessGone(engine.json<ContainerDetail>('GET', `/containers/${id}/json`));

export const isMain = ({ Labels }: ContainerSummary) => labelNames.port in Labels;

export async function servicesOf(parts: Parts, instanceId: string): Promise<ServiceSummary[]> {
  if (parts.swarmNode === null) return [];
  return parts.engine.json('GET', '/services', { query: labelled(labelNames.instance, instanceId) });
}

export async function lookAt(parts: Parts, instanceId: string): Promise<InstanceState> {
  // A Swarm makes the next one before the time has come to start it.
  const all = (await containersOf(parts.engine, instanceId)).filter(isMain);
  const begun = all.filter(({ State }) => State !== 'created');
  const mains = begun.length > 0 ? begun : all;
  const services = (await servicesOf(parts, instanceId)).filter(({ Spec }) => labelNames.port in Spec.Labels);
  const last = mains.at(-1);
  const detail = last ? await detailOf(parts.engine, last.Id) : null;
  const service = services[0];
  if (!detail) {
    if (!service) return { state: 'gone' };
    const [task] = await tasksOf(parts.engine, service.ID);
    return { state: 'restarting', restarts: 0, detail: task?.Status.Err ?? 'It is about to be started.' };
  }
  // A Swarm makes a new container each time.
  const restarts = service ? mains.length - 1 : detail.RestartCount;
  const { State: state } = detail;
  const leaving = 'It waits for another instance, with which it shares volumes.';
  if (parts.turns.isLeaving(instanceId)) {
    parts.turns.wasSeen(instanceId);
    return { state: 'restarting', restarts, detail: leaving };
  }
  if (state.Running && !state.Restarting) return { state: 'running', restarts };
  const how = endingOf(detail);
  if (last && !state.Restarting && (await hasMadeRoom(parts, last)))
    return { state: 'restarting', restarts, detail: leaving };
  if (state.Restarting || (service && (await isWanted(parts.engine, service.ID))))
    return { state: 'restarting', restarts, detail: `The app ${how}.` };
  return { state: 'failed', restarts, detail: `The app ${how}; it is not started again.` };
}

/** As a person is told. */
export function endingOf({ State: { OOMKilled, ExitCode, Error: error } }: ContainerDetail): string {
  if (OOMKilled) return 'was out of memory';
  if (error) return `could not be started: ${error}`;
  return `ended with exit code ${ExitCode}`;
}

async function tasksOf(engine: Engine, serviceId: string): Promise<TaskSummary[]> {
  const tasks = await engine.json<TaskSummary[]>('GET', '/tasks', {
    query: filters({ service: [serviceId] }),
  });
  return tasks.sort((one, other) => other.CreatedAt.localeCompare(one.CreatedAt));
}

const isWanted = async (engine: Engine, serviceId: string) =>
  (await tasksOf(engine, serviceId)).some(({ DesiredState }) => ['running', 'ready'].includes(DesiredState));

export async function listInstances(parts: Parts): Promise<Running[]> {
  const query = labelled(labelNames.installation, parts.installation);
  const containers = await parts.engine.json<ContainerSummary[]>('GET', '/containers/json', {
    query: { all: 1, ...query },
  });
  const services =
    parts.swarmNode === null ? [] : await parts.engine.json<ServiceSummary[]>('GET', '/services', { query });
  const found = new Map<string, Running>();
  for (const labels of [
    ...containers.map(({ Labels }) => Labels),
    ...services.map(({ Spec }) => Spec.Labels),
  ]) {
    const instanceId = labels[labelNames.instance];
    const port = labels[labelNames.port];
    if (instanceId === undefined || (port === undefined && found.has(instanceId))) continue;
    found.set(instanceId, {
      instanceId,
      handle: { name: instanceName(instanceId) },
      appId: labels[labelNames.app] ?? '',
      deploymentId: labels[labelNames.deployment] ?? '',
      address: `${parts.publish.host}:${port ?? 0}`,
    });
  }
  return [...found.values()];
}

interface Stats {
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  memory_stats?: { usage?: number; stats?: Record<string, number> };
}

export async function usageOf(
  { engine }: Parts,
  instanceId: string,
): Promise<{ cpuMs: number; memoryBytes: number } | null> {
  const running = (await containersOf(engine, instanceId)).filter(({ State }) => State === 'running');
  const all = await Promise.all(
    running.map(({ Id }) =>
      unlessGone(
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
    // What the kernel only keeps of files is no use of the app's.
    memoryBytes: sum(({ memory_stats: memory }) => {
      const idle = memory?.stats?.total_inactive_file ?? memory?.stats?.inactive_file ?? 0;
      return Math.max(0, (memory?.usage ?? 0) - idle);
    }),
  };
}
