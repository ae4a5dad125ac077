import { join } from 'node:path';
import { buildMinutesMax } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import type { Runtime, Started, StartJob } from '../runtime.ts';
import { chooseAppUsers } from './app-users.ts';
import { clearHalfBuilt, discardArtifact, parseArtifact } from './artifacts.ts';
import { buildApp } from './build-app.ts';
import { checkRuntime } from './check-runtime.ts';
import { type ControlGroupsUse, openControlGroups } from './control-groups.ts';
import type { Surroundings } from './environment.ts';
import { freePort } from './free-port.ts';
import { type Instance, startInstance } from './instance.ts';
import { makeLayout } from './layout.ts';
import { listArtifacts } from './list-artifacts.ts';
import { createMemoryWatch } from './memory-watch.ts';
import { takeNode } from './nodes.ts';
import type { Parts, Times } from './parts.ts';
import { clearRemains } from './process-file.ts';
import { reasonToRefuse } from './reason-to-refuse.ts';
import { takeUserBase } from './take-user-base.ts';
import { folderWithin } from './trees.ts';

export interface ProcessRuntimeOptions {
  dataDir: string;
  surroundings: Surroundings;
  controlGroups: ControlGroupsUse;
  log: Logger;
  times?: Partial<Times>;
}

const standardTimes: Times = {
  buildMsMax: buildMinutesMax * 60_000,
  restartMsMin: 1_000,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  restartsMax: 10,
  closeGraceMs: 10_000,
};

/** Apps as processes beside the server, which end with it. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<Runtime> {
  const { log, dataDir } = options;
  const layout = makeLayout(dataDir);
  const base = takeUserBase(layout.users);
  const users = chooseAppUsers({ folder: layout.run, isRoot: process.getuid?.() === 0, base });
  const nodes = takeNode(layout.nodes);
  const parts: Parts = {
    node: nodes.own,
    layout,
    users,
    groups: openControlGroups({ use: options.controlGroups, node: nodes.own }),
    watch: createMemoryWatch(),
    surroundings: options.surroundings,
    times: { ...standardTimes, ...options.times },
  };
  const gone = [nodes.own, ...nodes.dead];
  const ended = await clearRemains(layout.run, { nodes: gone, groups: parts.groups, users });
  await clearHalfBuilt(layout, gone);
  parts.groups.removeForgotten();
  nodes.forgetDead();
  if (ended > 0) log.info({ ended }, 'ended what a former server had left running');
  if (users.kind === 'as_server')
    log.warn('apps run as the user of the server; as root each has one of its own');
  const obstacle = users.obstacle();
  if (obstacle !== null) log.warn({ obstacle }, 'apps can not be run');

  const instances = new Map<string, Promise<Instance>>();
  const ports = new Map<string, number>();
  const isTaken = (port: number) => [...ports.values()].includes(port);
  const listeners = new Set<(instanceId: string) => void>();

  async function begin(job: StartJob): Promise<Instance> {
    const artifact = job.method === 'static' ? null : parseArtifact(job.artifact);
    if (!artifact) throw new Error('There is nothing to start in this artefact.');
    const reason = users.obstacle();
    if (reason !== null) throw new Error(reason);
    const dir = await folderWithin(join(layout.artifacts, artifact.buildId), artifact.dir);
    if (dir === null) throw new Error(`What build ${artifact.buildId} made is not here.`);
    const newPort = async () => {
      const port = await freePort(isTaken);
      ports.set(job.instanceId, port);
      return port;
    };
    const onTurn = () => {
      for (const listener of listeners) listener(job.instanceId);
    };
    return startInstance(parts, { job, newPort, dir, command: artifact.startCommand, onTurn });
  }

  function forget(id: string): void {
    instances.delete(id);
    ports.delete(id);
  }

  const found = async (id: string) => (await instances.get(id)?.catch(() => null)) ?? null;
  const startedAs = ({ job, port }: Instance): Started => ({
    handle: { instanceId: job.instanceId },
    address: `127.0.0.1:${port()}`,
  });

  return {
    kind: 'process',
    node: nodes.own,
    refuses: async (wish) => reasonToRefuse(users, wish),
    build: (job) => buildApp(parts, job),
    async start(job) {
      const starting = instances.get(job.instanceId) ?? begin(job);
      instances.set(job.instanceId, starting);
      try {
        return startedAs(await starting);
      } catch (error) {
        if (instances.get(job.instanceId) === starting) forget(job.instanceId);
        throw error;
      }
    },
    async stop({ instanceId }, { graceMs }) {
      const instance = await found(instanceId);
      if (!instance) return;
      await instance.stop(graceMs);
      forget(instanceId);
    },
    look: async ({ instanceId }) => (await found(instanceId))?.state() ?? { state: 'gone' },
    async list() {
      const all = await Promise.all([...instances.keys()].map(found));
      return all
        .filter((instance) => instance !== null)
        .map((instance) => ({
          instanceId: instance.job.instanceId,
          appId: instance.job.appId,
          deploymentId: instance.job.deploymentId,
          ...startedAs(instance),
        }));
    },
    onTurn: (listener) => void listeners.add(listener),
    usage: async ({ instanceId }) => (await found(instanceId))?.usage() ?? null,
    async discard(artifact) {
      const parsed = parseArtifact(artifact);
      if (parsed) await discardArtifact(layout, parsed);
    },
    artifacts: async () => listArtifacts(layout),
    check: () => checkRuntime({ ...parts, holds: parts.groups.holds }),
    async close() {
      const all = await Promise.all([...instances.keys()].map(found));
      await Promise.allSettled(all.map((instance) => instance?.stop(parts.times.closeGraceMs)));
      instances.clear();
      parts.watch.close();
      await parts.groups.removeNode(nodes.own);
      nodes.release();
    },
  };
}
