import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildMinutesMax } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import { writeDurably } from '../../os/files.ts';
import type { BaseEnvironment } from '../process/environment.ts';
import type { IsolationOptions } from '../process/isolation.ts';
import { createDiskWatch } from '../process/process-deps.ts';
import type { Runtime, StartedInstance, StartJob } from '../runtime.ts';
import { createAppPorts } from './app-ports.ts';
import { buildApp, findUnsupported } from './build-app.ts';
import { findComposeTool, serviceNames, startCompose } from './compose/start-compose.ts';
import { createDiskLimits } from './disk-limits.ts';
import {
  createBuildNotes,
  createDepartures,
  type DockerDeps,
  instanceName,
  labelNames,
  openScratch,
  parseArtifact,
  publishAddress,
} from './docker-deps.ts';
import { createEngine, type Engine, EngineError, type EngineInfo, ignoreMissing } from './engine.ts';
import { createFirewall } from './firewall.ts';
import { listContainers, listInstances, listServices, readState, readUsage } from './instances.ts';
import { createLogs } from './logs.ts';
import { removeInstance } from './remove-instance.ts';
import { runCommand } from './run-command.ts';
import { isSpread, isSpreadService } from './spread.ts';
import { startContainer, startService, toContainerUrls } from './start-instance.ts';

export interface DockerOptions {
  host: string;
  baseImage: string;
  network: string | null;
  address: string | null;
  /** A Swarm opens ports on all addresses of the node, so the operator must allow it. */
  swarm: 'refused' | 'trusted-network';
  /** Without one, the apps of a Swarm run on the node of the engine. */
  registry: string | null;
}

export interface DockerRuntimeOptions extends DockerOptions {
  dataDir: string;
  installation: string;
  imageKey: () => string;
  baseEnvironment: BaseEnvironment;
  isolation: Pick<IsolationOptions, 'use' | 'egress'>;
  log: Logger;
  buildMsMax?: number;
  diskReserveMb?: number;
}

export async function createDockerRuntime(options: DockerRuntimeOptions): Promise<Runtime> {
  const scratch = await openScratch(join(dockerFolder(options), 'scratch'));
  const deps = await openDockerDeps(options, scratch.folder).catch(async (error: unknown) => {
    await scratch.close();
    throw error;
  });
  const { engine } = deps;
  const logs = createLogs(deps);
  const starting = new Map<string, Promise<StartedInstance>>();

  async function begin(job: StartJob): Promise<StartedInstance> {
    const artifact = job.method === 'static' ? null : parseArtifact(job.artifact);
    if (!artifact) throw new Error('This artifact cannot be started.');
    const { instanceId, log, limits } = job;
    await deps.firewall.open(instanceId, job.services ?? []);
    const start = deps.swarmNode === null ? startContainer : startService;
    const port =
      artifact.kind === 'compose'
        ? await startCompose(deps, job, artifact)
        : await start(deps, job, artifact);
    const services = artifact.kind === 'compose' ? serviceNames(artifact) : ['app'];
    const isService = artifact.kind !== 'compose' && isSpread(deps, artifact);
    const memoryMb = services.length > 1 ? null : limits.memoryMb;
    logs.follow({ instanceId, services, isService, memoryMb, log });
    deps.diskLimits.add({ instanceId, diskMb: limits.diskMb, log });
    if (port > 0 && artifact.kind !== 'compose' && deps.swarmNode === null) deps.ports.watch(instanceId, log);
    return {
      handle: { name: instanceName(job.instanceId) },
      address: `${deps.publish.host}:${port}`,
    };
  }

  return {
    kind: 'docker',
    endsWithServer: false,
    node: deps.node,
    refuses: async (requirements) => findUnsupported(deps, requirements) ?? deps.firewall.protect(),
    refusesCommands: (method) =>
      method === 'compose' && deps.swarmNode !== null
        ? 'In a Docker Swarm, a command cannot join the network of the services of a compose app. Call the app with a schedule that has a path.'
        : null,
    build: (job) => buildApp(deps, job),
    run: (job) => runCommand(deps, job),
    start(job) {
      const { instanceId } = job;
      const under = starting.get(instanceId) ?? begin(job).finally(() => starting.delete(instanceId));
      starting.set(instanceId, under);
      return under;
    },
    async stop({ instanceId }, { graceMs }) {
      await starting.get(instanceId)?.catch(() => {});
      await deps.ports.remove(instanceId);
      await removeInstance(deps, instanceId, { graceMs, afterEnd: () => logs.finish(instanceId) });
      logs.forget(instanceId);
      deps.diskLimits.remove(instanceId);
      deps.firewall.forget(instanceId);
    },
    getState: ({ instanceId }) => readState(deps, instanceId),
    list: () => listInstances(deps),
    usage: ({ instanceId }) => readUsage(deps, instanceId),
    async resumeLog({ instanceId }, log) {
      if (logs.isFollowed(instanceId) || !logs.isOurs(instanceId)) return;
      const isService = (await listServices(deps, instanceId)).some(isSpreadService);
      if (isService) return logs.follow({ instanceId, services: ['app'], isService, memoryMb: null, log });
      const found = await listContainers(engine, instanceId);
      const services = [...new Set(found.map(({ Labels }) => Labels[labelNames.service] ?? 'app'))];
      if (services.length === 0) return;
      logs.follow({ instanceId, services, isService, memoryMb: null, log });
      const diskMb = Number(found[0]?.Labels[labelNames.diskMb]);
      if (diskMb > 0) deps.diskLimits.add({ instanceId, diskMb, log });
      if (labelNames.forward in (found[0]?.Labels ?? {})) deps.ports.watch(instanceId, log);
    },
    async discard(artifact) {
      const parsed = parseArtifact(artifact);
      if (!parsed) return;
      const images = parsed.kind === 'compose' ? Object.values(parsed.images) : [parsed];
      for (const { image } of images)
        await ignoreMissing(engine.send('DELETE', `/images/${image}`, { query: { force: 1 } }));
      deps.built.remove(parsed.buildId);
    },
    artifacts: async () => deps.built.list(),
    onStateChange: deps.departures.onStateChange,
    adaptVariables: toContainerUrls,
    async check() {
      const found = await checkEngine(options, options.isolation);
      const problem = found.ok ? await deps.firewall.protect() : null;
      return problem === null ? found : { ok: false, detail: problem };
    },
    async close() {
      await Promise.allSettled(starting.values());
      await logs.close();
      await deps.ports.close();
      deps.diskLimits.close();
      await deps.firewall.close();
      await scratch.close();
    },
  };
}

const dockerFolder = ({ dataDir }: DockerRuntimeOptions) => join(dataDir, 'runtime', 'docker');

async function openDockerDeps(options: DockerRuntimeOptions, scratchDir: string): Promise<DockerDeps> {
  const { host, log, baseEnvironment } = options;
  const engine = createEngine(host);
  const folder = dockerFolder(options);
  const { node, swarmNode, rootDir } = await identifyEngine(engine, {
    file: join(folder, 'engine.json'),
    log,
  });
  if (swarmNode !== null && options.swarm === 'refused') throw new EngineError(0, swarmRefusedMessage);
  const composeTool = await findComposeTool({ path: baseEnvironment.path, isSwarm: swarmNode !== null });
  const { installation, baseImage } = options;
  const buildVariables = Object.fromEntries(
    Object.entries(baseEnvironment.forBuilds).filter(([name]) => /(?:proxy|registry)$/i.test(name)),
  );
  const folders = [options.dataDir, ...(rootDir && existsSync(rootDir) ? [rootDir] : [])];
  const disk = createDiskWatch({ folders, reserveMb: options.diskReserveMb });
  const firewall = createFirewall(
    {
      engine,
      installation,
      baseImage,
      buildVariables,
      log,
      isSpread: swarmNode !== null && options.registry !== null,
    },
    options.isolation,
  );
  const departures = createDepartures();
  const publish = publishAddress(host, options.address);
  const deps: DockerDeps = {
    engine,
    node,
    swarmNode,
    registry: options.registry,
    log,
    composeTool,
    scratchDir,
    disk,
    diskLimits: createDiskLimits({ engine, disk }),
    firewall,
    buildVariables,
    installation,
    baseImage,
    built: createBuildNotes(join(folder, 'built')),
    departures,
    ports: createAppPorts({ engine, installation, baseImage, publish, departures, log }),
    imageKey: options.imageKey,
    network: options.network,
    publish,
    path: baseEnvironment.path,
    logsDir: join(folder, 'logs'),
    buildMsMax: options.buildMsMax ?? buildMinutesMax * 60_000,
  };
  // A changed setting applies to the instances that run.
  void listInstances(deps)
    .then((running) => (running.length > 0 ? firewall.protect() : null))
    .then((problem) => problem !== null && log.error({ problem }, 'apps cannot run'))
    .catch((error: unknown) => log.warn({ err: error }, 'the network rules of apps were not checked'));
  return deps;
}

interface EngineIdentity extends Pick<DockerDeps, 'node' | 'swarmNode'> {
  rootDir?: string;
}

/** If the engine is unreachable on start, the stored identity is used, so that the server can still serve sites and rows. */
async function identifyEngine(
  engine: Engine,
  { file, log }: { file: string; log: Logger },
): Promise<EngineIdentity> {
  try {
    const info = await engine.json<EngineInfo>('GET', '/info');
    const { LocalNodeState, ControlAvailable, NodeID, Cluster } = info.Swarm;
    const isSwarm = LocalNodeState === 'active' && ControlAvailable;
    const identity = {
      node: isSwarm ? (Cluster?.ID ?? NodeID) : info.ID,
      swarmNode: isSwarm ? NodeID : null,
      rootDir: info.DockerRootDir,
    };
    writeDurably(file, `${JSON.stringify(identity)}\n`);
    return identity;
  } catch (error) {
    if (!(error instanceof EngineError) || !existsSync(file)) throw error;
    log.warn({ err: error }, 'Docker engine unreachable; apps cannot be deployed');
    return JSON.parse(await readFile(file, 'utf8')) as EngineIdentity;
  }
}

const swarmRefusedMessage =
  'The engine is a Swarm, which opens the ports of apps on all addresses of the node, without the access checks of the edge. Set SVC_DOCKER_SWARM=trusted-network if a firewall allows only the server, or use an engine without Swarm.';

export async function checkEngine(
  { host, baseImage, swarm, network, registry }: DockerOptions,
  { use }: Pick<IsolationOptions, 'use'>,
): Promise<{ ok: boolean; isOpen?: boolean; detail: string }> {
  const engine = createEngine(host);
  try {
    const info = await engine.json<EngineInfo>('GET', '/info');
    if (info.OSType !== 'linux')
      return { ok: false, detail: `The engine runs ${info.OSType}; apps need Linux.` };
    const isSwarm = info.Swarm.LocalNodeState === 'active' && info.Swarm.ControlAvailable;
    const sentences = [
      `Docker ${info.ServerVersion} at ${host}${isSwarm ? ', a Swarm: apps are services' : ''}.`,
    ];
    if (isSwarm && swarm === 'refused') return { ok: false, detail: swarmRefusedMessage };
    if (isSwarm)
      sentences.push(
        'App ports are open on all addresses: block 20000-60000 with a firewall. Apps must listen on PORT.',
        registry === null
          ? 'All run on the node of this engine (SVC_DOCKER_REGISTRY is not set).'
          : `They run on all nodes, with images from ${registry}.`,
      );
    if (!isSwarm && registry !== null)
      return { ok: false, detail: 'SVC_DOCKER_REGISTRY is set, but the engine is not a manager of a Swarm.' };
    if (use === 'none')
      return {
        ok: false,
        isOpen: true,
        detail: 'Apps can connect to this machine and its networks (SVC_RUNTIME_ISOLATION=none is set).',
      };
    if (network !== null)
      sentences.push(`Rules for connections of apps are those of ${network} (SVC_DOCKER_NETWORK).`);
    if (!info.MemoryLimit) sentences.push('Memory cannot be limited.');
    if (!info.PidsLimit) sentences.push('The number of processes cannot be limited.');
    if (!(await ignoreMissing(engine.json('GET', `/images/${baseImage}/json`))))
      sentences.push(
        `${baseImage} (SVC_DOCKER_BASE_IMAGE) is not present yet and will be pulled by the first build.`,
      );
    return { ok: true, detail: sentences.join(' ') };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { ok: false, detail: error.message };
  }
}
