import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildMinutesMax } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import { writeDurably } from '../../database/durable-file.ts';
import type { Surroundings } from '../process/environment.ts';
import type { Runtime, Started, StartJob } from '../runtime.ts';
import { parseArtifact } from './artifacts.ts';
import { buildApp } from './build-app.ts';
import { createBuiltNotes } from './built-notes.ts';
import { checkEngine, swarmRefused } from './check-runtime.ts';
import { findComposeTool } from './compose/compose-tool.ts';
import { servicesIn, startCompose } from './compose/start-compose.ts';
import { createEngine, type Engine, EngineError, unlessGone } from './engine.ts';
import type { EngineInfo } from './engine-shapes.ts';
import { containersOf, listInstances, lookAt, usageOf } from './instances.ts';
import { instanceName, labelNames } from './labels.ts';
import { createLogs } from './logs.ts';
import { type Parts, publishAt } from './parts.ts';
import { reasonToRefuse } from './reason-to-refuse.ts';
import { removeInstance } from './remove-instance.ts';
import { openScratch } from './scratch.ts';
import { seenFromInside } from './seen-from-inside.ts';
import { startContainer } from './start-container.ts';
import { startService } from './start-service.ts';
import { createTurns } from './turns.ts';

export interface DockerOptions {
  host: string;
  baseImage: string;
  network: string | null;
  /** Where published ports are reached; null: found by the host. */
  address: string | null;
  /** Whether a Swarm may be used, whose ports are open on all addresses of the node. */
  swarm: 'refused' | 'trusted-network';
}

export interface DockerRuntimeOptions extends DockerOptions {
  dataDir: string;
  installation: string;
  /** Known to this installation alone: of the names of images. */
  imageKey: string;
  surroundings: Surroundings;
  log: Logger;
  buildMsMax?: number;
}

/** Apps as containers of an engine, which go on while the server is away. */
export async function createDockerRuntime(options: DockerRuntimeOptions): Promise<Runtime> {
  const scratch = await openScratch(join(folderOf(options), 'scratch'));
  const parts = await openParts(options, scratch.folder).catch(async (error: unknown) => {
    await scratch.close();
    throw error;
  });
  const { engine } = parts;
  const logs = createLogs(parts);
  const starting = new Map<string, Promise<Started>>();

  async function begin(job: StartJob): Promise<Started> {
    const artifact = job.method === 'static' ? null : parseArtifact(job.artifact);
    if (!artifact) throw new Error('There is nothing to start in this artefact.');
    const start = parts.swarmNode === null ? startContainer : startService;
    const port =
      artifact.kind === 'compose'
        ? await startCompose(parts, job, artifact)
        : await start(parts, job, artifact);
    const services = artifact.kind === 'compose' ? servicesIn(artifact) : ['app'];
    const { instanceId, log } = job;
    logs.follow({ instanceId, services, memoryMb: services.length > 1 ? null : job.limits.memoryMb, log });
    return {
      handle: { name: instanceName(job.instanceId) },
      address: `${parts.publish.host}:${port}`,
    };
  }

  return {
    kind: 'docker',
    node: parts.node,
    refuses: async (wish) => reasonToRefuse(parts, wish),
    build: (job) => buildApp(parts, job),
    start(job) {
      const { instanceId } = job;
      const under = starting.get(instanceId) ?? begin(job).finally(() => starting.delete(instanceId));
      starting.set(instanceId, under);
      return under;
    },
    async stop({ instanceId }, { graceMs }) {
      await starting.get(instanceId)?.catch(() => {});
      await removeInstance(parts, instanceId, { graceMs, afterEnd: () => logs.finish(instanceId) });
      logs.forget(instanceId);
    },
    look: ({ instanceId }) => lookAt(parts, instanceId),
    list: () => listInstances(parts),
    usage: ({ instanceId }) => usageOf(parts, instanceId),
    async hear({ instanceId }, log) {
      if (logs.isFollowed(instanceId) || !logs.isOurs(instanceId)) return;
      const found = await containersOf(engine, instanceId);
      const services = [...new Set(found.map(({ Labels }) => Labels[labelNames.service] ?? 'app'))];
      if (services.length > 0) logs.follow({ instanceId, services, memoryMb: null, log });
    },
    async discard(artifact) {
      const parsed = parseArtifact(artifact);
      if (!parsed) return;
      const images = parsed.kind === 'compose' ? Object.values(parsed.images) : [parsed];
      for (const { image } of images)
        await unlessGone(engine.tell('DELETE', `/images/${image}`, { query: { force: 1 } }));
      parts.built.remove(parsed.buildId);
    },
    artifacts: async () => parts.built.list(),
    onTurn: parts.turns.onTurn,
    seenFromInside,
    check: () => checkEngine(options),
    async close() {
      await Promise.allSettled(starting.values());
      await logs.close();
      await scratch.close();
    },
  };
}

const folderOf = ({ dataDir }: DockerRuntimeOptions) => join(dataDir, 'runtime', 'docker');

async function openParts(options: DockerRuntimeOptions, scratchDir: string): Promise<Parts> {
  const { host, log, surroundings } = options;
  const engine = createEngine(host);
  const folder = folderOf(options);
  const { node, swarmNode } = await knownAs(engine, { file: join(folder, 'engine.json'), log });
  if (swarmNode !== null && options.swarm === 'refused') throw new EngineError(0, swarmRefused);
  const composeTool = await findComposeTool({ path: surroundings.path, isSwarm: swarmNode !== null });
  return {
    ...{ engine, node, swarmNode, log, composeTool, scratchDir },
    built: createBuiltNotes(join(folder, 'built')),
    turns: createTurns(),
    imageKey: options.imageKey,
    installation: options.installation,
    baseImage: options.baseImage,
    network: options.network,
    publish: publishAt(host, options.address),
    buildVariables: Object.fromEntries(
      Object.entries(surroundings.forBuilds).filter(([name]) => /(?:proxy|registry)$/i.test(name)),
    ),
    path: surroundings.path,
    logsDir: join(folder, 'logs'),
    buildMsMax: options.buildMsMax ?? buildMinutesMax * 60_000,
  };
}

/** An engine that is away when the server starts is the one it was: sites and rows are served meanwhile. */
async function knownAs(
  engine: Engine,
  { file, log }: { file: string; log: Logger },
): Promise<Pick<Parts, 'node' | 'swarmNode'>> {
  try {
    const info = await engine.json<EngineInfo>('GET', '/info');
    const { LocalNodeState, ControlAvailable, NodeID, Cluster } = info.Swarm;
    const isSwarm = LocalNodeState === 'active' && ControlAvailable;
    const known = { node: isSwarm ? (Cluster?.ID ?? NodeID) : info.ID, swarmNode: isSwarm ? NodeID : null };
    writeDurably(file, `${JSON.stringify(known)}\n`);
    return known;
  } catch (error) {
    if (!(error instanceof EngineError) || !existsSync(file)) throw error;
    log.warn({ err: error }, 'the Docker engine is away; apps can not be deployed');
    return JSON.parse(await readFile(file, 'utf8')) as Pick<Parts, 'node' | 'swarmNode'>;
  }
}
