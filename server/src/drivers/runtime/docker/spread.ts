import { findFreePort } from '../process/network.ts';
import type { InstanceState, StartJob } from '../runtime.ts';
import {
  type DockerDeps,
  filters,
  type ImageArtifact,
  instanceName,
  labelFilter,
  labelNames,
} from './docker-deps.ts';
import {
  type Engine,
  EngineError,
  ignoreMissing,
  type NodeSummary,
  type ServiceSummary,
  type TaskSummary,
} from './engine.ts';
import { installationHash } from './networks.ts';

/**
 * Apps on all nodes of a Swarm, which get the images from a registry. Containers of other nodes are known by the tasks of
 * their services only.
 */
export function isSpread({ registry, swarmNode }: DockerDeps, { image }: ImageArtifact): boolean {
  return registry !== null && swarmNode !== null && image.startsWith(`${registry}/`);
}

export const isSpreadService = ({ Spec }: ServiceSummary) => labelNames.spread in Spec.Labels;

export const listNodes = (engine: Engine) => engine.json<NodeSummary[]>('GET', '/nodes');

export const isReady = ({ Status, Spec }: NodeSummary) =>
  Status.State === 'ready' && Spec.Availability === 'active';

/** Set on nodes whose network rules are set: apps run on no other. */
const nodeLabel = (installation: string) => `svc-${installationHash(installation)}`;

/** Services of an app do not connect to each other or to those of other apps: each has a network of its own. */
export async function createSpreadNetwork(
  { engine, network, installation }: DockerDeps,
  { instanceId }: StartJob,
): Promise<string> {
  if (network !== null) return network;
  const name = instanceName(instanceId);
  const Labels = { [labelNames.installation]: installation, [labelNames.instance]: instanceId };
  await engine
    .send('POST', '/networks/create', {
      body: { Name: name, Driver: 'overlay', CheckDuplicate: true, Labels },
    })
    .catch((error: unknown) => {
      if (!(error instanceof EngineError && error.status === 409)) throw error;
    });
  return name;
}

/** Free on this machine, and not used by another service. */
export async function choosePublishedPort({ engine, installation }: DockerDeps): Promise<number> {
  const services = await listInstallationServices(engine, installation);
  const taken = new Set(services.map(({ Spec }) => Number(Spec.Labels[labelNames.port])));
  return findFreePort((port) => taken.has(port));
}

const listInstallationServices = (engine: Engine, installation: string) =>
  engine.json<ServiceSummary[]>('GET', '/services', {
    query: labelFilter(labelNames.installation, installation),
  });

/** Another node than those of the deployment's other instances, while there is one. */
export async function placementConstraints(deps: DockerDeps, { deploymentId }: StartJob): Promise<string[]> {
  const { engine, installation } = deps;
  const label = nodeLabel(installation);
  const services = await engine.json<ServiceSummary[]>('GET', '/services', {
    query: labelFilter(labelNames.deployment, deploymentId),
  });
  const own = new Set(services.map(({ ID }) => ID));
  const used = new Set(
    (await listDesiredTasks(engine))
      .filter(({ ServiceID }) => own.has(ServiceID))
      .map(({ NodeID }) => NodeID),
  );
  const nodes = (await listNodes(engine)).filter((node) => isReady(node) && label in node.Spec.Labels);
  const hasUnused = nodes.some(({ ID }) => !used.has(ID));
  const others = hasUnused ? [...used].filter(Boolean).map((id) => `node.id!=${id}`) : [];
  return [`node.labels.${label}==ready`, ...others];
}

const placedMsMax = 5_000;

/** So that the next instance of the deployment gets another node. */
export async function waitUntilPlaced({ engine }: DockerDeps, serviceName: string): Promise<void> {
  for (const deadline = Date.now() + placedMsMax; Date.now() < deadline; await Bun.sleep(100)) {
    const tasks = await listServiceTasks(engine, serviceName);
    if (tasks.some(({ NodeID }) => NodeID)) return;
  }
}

export const listServiceTasks = (engine: Engine, service: string) =>
  engine.json<TaskSummary[]>('GET', '/tasks', { query: filters({ service: [service] }) });

const listDesiredTasks = (engine: Engine) =>
  engine.json<TaskSummary[]>('GET', '/tasks', { query: filters({ 'desired-state': ['running'] }) });

/** By service, where its running task is. */
export async function findAddresses(deps: DockerDeps): Promise<(service: ServiceSummary) => string | null> {
  const { engine } = deps;
  const hosts = await findHosts(deps);
  const tasks = await listDesiredTasks(engine);
  const running = new Map(
    tasks.filter(({ Status }) => Status.State === 'running').map((task) => [task.ServiceID, task.NodeID]),
  );
  return ({ ID, Spec }) => {
    const host = hosts.get(running.get(ID) ?? '');
    return host === undefined ? null : `${host}:${Spec.Labels[labelNames.port] ?? 0}`;
  };
}

/** By node. This server reaches its own engine at the address that the operator has set. */
async function findHosts({ engine, swarmNode, publish }: DockerDeps): Promise<Map<string, string>> {
  const nodes = await listNodes(engine);
  return new Map(nodes.map(({ ID, Status }) => [ID, ID === swarmNode ? publish.host : Status.Addr]));
}

const ended = ['complete', 'shutdown', 'failed', 'rejected', 'remove', 'orphaned'];

export async function readSpreadState(deps: DockerDeps, service: ServiceSummary): Promise<InstanceState> {
  const tasks = await listServiceTasks(deps.engine, service.ID);
  tasks.sort((one, other) => other.CreatedAt.localeCompare(one.CreatedAt));
  const restarts = tasks.filter(({ DesiredState, Status }) => isOver(DesiredState, Status.State)).length;
  const desired = tasks.filter(({ DesiredState }) => ['running', 'ready'].includes(DesiredState));
  const running = desired.find(({ Status }) => Status.State === 'running');
  const port = Number(service.Spec.Labels[labelNames.port]);
  if (running) {
    const host = (await findHosts(deps)).get(running.NodeID ?? '') ?? deps.publish.host;
    return { state: 'running', restarts, ...(port > 0 ? { address: `${host}:${port}` } : {}) };
  }
  const [newest] = desired;
  const why = (newest ?? tasks[0])?.Status.Err;
  // Every node that it may run on is gone: another service may run on others.
  if (newest?.Status.State === 'pending' && why?.includes('no suitable node'))
    return { state: 'failed', restarts, detail: `The app has no node: ${why}.` };
  const last = tasks.find(({ Status }) => ended.includes(Status.State))?.Status.Err;
  if (newest || tasks.length === 0)
    return { state: 'restarting', restarts, detail: last ? `The app ended: ${last}.` : 'Starting.' };
  return { state: 'failed', restarts, detail: `The app ended: ${why ?? 'unknown'}; it is not restarted.` };
}

/** A task of a node that is gone still counts as running. */
const isOver = (desired: string, state: string) => desired === 'shutdown' || ended.includes(state);

const taskMsMax = 45_000;

/** Runs the command on every node, and marks the nodes where it succeeded. Returns their ids. */
export async function runOnNodes(
  { engine, installation, baseImage }: Pick<DockerDeps, 'engine' | 'installation' | 'baseImage'>,
  { command, signal }: { command: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const { ID } = await engine.json<{ ID: string }>('POST', '/services/create', {
    upTo: '1.44',
    signal,
    body: {
      Name: `svc-rules-${crypto.randomUUID()}`,
      Labels: { [labelNames.installation]: installation },
      TaskTemplate: {
        ContainerSpec: {
          Image: baseImage,
          Command: command,
          User: '0:0',
          Mounts: [{ Type: 'bind', Source: '/', Target: '/machine' }],
          CapabilityDrop: ['ALL'],
          CapabilityAdd: ['CAP_NET_ADMIN', 'CAP_NET_RAW', 'CAP_SYS_CHROOT'],
          Privileges: { SELinuxContext: { Disable: true } },
        },
        RestartPolicy: { Condition: 'none' },
        Networks: [{ Target: 'host' }],
      },
      Mode: { GlobalJob: {} },
    },
  });
  try {
    const succeeded = await waitForNodes(engine, ID, signal);
    for (const node of succeeded) await markNode(engine, node, nodeLabel(installation));
    return succeeded.map((node) => node.ID);
  } finally {
    await ignoreMissing(engine.send('DELETE', `/services/${ID}`));
  }
}

async function waitForNodes(engine: Engine, service: string, signal: AbortSignal): Promise<NodeSummary[]> {
  for (const deadline = Date.now() + taskMsMax; ; await Bun.sleep(100)) {
    signal.throwIfAborted();
    const nodes = (await listNodes(engine)).filter(isReady);
    const tasks = await listServiceTasks(engine, service);
    const stateOf = (node: NodeSummary) => tasks.find(({ NodeID }) => NodeID === node.ID)?.Status;
    const failed = nodes.map(stateOf).find((status) => ['failed', 'rejected'].includes(status?.State ?? ''));
    if (failed) throw new EngineError(0, `On a node of the Swarm: ${failed.Err ?? failed.State}`);
    const succeeded = nodes.filter((node) => stateOf(node)?.State === 'complete');
    if (succeeded.length === nodes.length && nodes.length > 0) return succeeded;
    if (Date.now() < deadline) continue;
    if (succeeded.length > 0) return succeeded;
    throw new EngineError(0, 'No node of the Swarm has set them in time.');
  }
}

async function markNode(engine: Engine, { ID }: NodeSummary, label: string): Promise<void> {
  const { Version, Spec } = await engine.json<NodeSummary>('GET', `/nodes/${ID}`);
  if (Spec.Labels?.[label] === 'ready') return;
  const body = { ...Spec, Labels: { ...Spec.Labels, [label]: 'ready' } };
  await engine.send('POST', `/nodes/${ID}/update`, { query: { version: Version.Index }, body });
}
