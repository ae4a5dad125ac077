import { join, relative } from 'node:path';
import { buildMinutesMax } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import type {
  Artifact,
  RunJob,
  RunResult,
  Runtime,
  StartedInstance,
  StartJob,
  UnpackedFile,
} from '../runtime.ts';
import { chooseAppUsers, findUnsupported, readOrChooseUserBase } from './app-users.ts';
import {
  discardArtifact,
  hasBuild,
  listArtifacts,
  type PackedFile,
  packBuild,
  parseArtifact,
  removeUnfinishedBuilds,
  unpackBuild,
} from './artifacts.ts';
import { buildApp } from './build-app.ts';
import { type ControlGroupsUse, openControlGroups } from './control-groups.ts';
import type { BaseEnvironment } from './environment.ts';
import { claimNode, endRemains, makeLayout } from './folders.ts';
import { type Instance, startInstance } from './instance.ts';
import { checkRuntime, type IsolationOptions, noControlGroup, openIsolation } from './isolation.ts';
import { findFreePort } from './network.ts';
import { createDiskWatch, createUsageWatch, type ProcessDeps, type Times } from './process-deps.ts';
import { runCommand } from './run-command.ts';
import { resolveFolder, restoreReaders } from './trees.ts';

export interface ProcessRuntimeOptions {
  dataDir: string;
  baseEnvironment: BaseEnvironment;
  toolchainDir?: string | undefined;
  controlGroups: ControlGroupsUse;
  isolation: IsolationOptions;
  log: Logger;
  times?: Partial<Times>;
  diskReserveMb?: number;
}

export interface ProcessRuntime extends Runtime {
  readonly isSandboxed: boolean;
  packBuild(artifact: Artifact, file: Pick<PackedFile, 'path'> & Partial<PackedFile>): Promise<void>;
  unpackBuild(artifact: Artifact, file: UnpackedFile & Partial<PackedFile>): Promise<void>;
}

const standardTimes: Times = {
  buildMsMax: buildMinutesMax * 60_000,
  restartMsMin: 1_000,
  restartMsMax: 60_000,
  steadyMs: 60_000,
  restartsMax: 10,
  closeGraceMs: 10_000,
};

export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<ProcessRuntime> {
  const { log, dataDir } = options;
  const layout = makeLayout(dataDir);
  const base = readOrChooseUserBase(layout.users);
  const users = chooseAppUsers({ folder: layout.run, isRoot: process.getuid?.() === 0, base });
  const nodes = claimNode(layout.nodes);
  const isolation = await openIsolation(options.isolation, {
    filesFolder: layout.sandbox,
    users,
    path: options.baseEnvironment.path,
    dir: layout.run,
  });
  const deps: ProcessDeps = {
    node: nodes.own,
    layout,
    users,
    isolation,
    groups: openControlGroups({ use: options.controlGroups, node: nodes.own }),
    watch: createUsageWatch(),
    disk: createDiskWatch({ folders: [dataDir], reserveMb: options.diskReserveMb }),
    baseEnvironment: options.baseEnvironment,
    toolchainDir: options.toolchainDir ?? join(dataDir, 'toolchains'),
    times: { ...standardTimes, ...options.times },
  };
  const deadNodes = [nodes.own, ...nodes.dead];
  const ended = await endRemains(layout.run, { nodes: deadNodes, groups: deps.groups, users });
  await removeUnfinishedBuilds(layout, deadNodes);
  deps.groups.removeAbandoned();
  nodes.forgetDead();
  if (ended > 0) log.info({ ended }, 'ended processes of an earlier server');
  if (isolation.warning !== null)
    log.warn(
      { reason: isolation.warning },
      'apps run without isolation from this machine and from each other',
    );
  if (options.controlGroups === 'own' && deps.groups.holds.size === 0)
    log.warn({ reason: noControlGroup }, 'apps have no control groups');
  const problem = isolation.findProblem();
  if (problem !== null) log.error({ problem }, 'apps cannot run');

  const instances = new Map<string, Promise<Instance>>();
  const ports = new Map<string, number>();
  const isTaken = (port: number) => [...ports.values()].includes(port);
  const listeners = new Set<(instanceId: string) => void>();

  async function findBuild(job: Pick<StartJob, 'method' | 'artifact' | 'number'>) {
    const artifact = job.method === 'static' ? null : parseArtifact(job.artifact);
    if (!artifact) throw new Error('This artifact cannot be started.');
    const reason = isolation.findProblem();
    if (reason !== null) throw new Error(reason);
    const tree = await resolveFolder(layout.artifacts, artifact.buildId);
    const folder = tree && (await resolveFolder(tree, artifact.dir));
    if (!tree || !folder) throw new Error(`The artifact of build ${artifact.buildId} does not exist.`);
    const readers = users.ofInstance(job.number)?.gid;
    if (readers !== undefined) await restoreReaders(tree, { readers, isCopied: isolation.sandbox !== null });
    const { startCommand: command, tools, builtAt } = artifact;
    // Output of builds often contains the path.
    const treeInside = isolation.sandbox === null ? tree : (builtAt ?? tree);
    return { tree, treeInside, dir: join(treeInside, relative(tree, folder)), command, tools };
  }

  async function begin(job: StartJob): Promise<Instance> {
    const build = await findBuild(job);
    const newPort = async () => {
      const port = await findFreePort(isTaken);
      ports.set(job.instanceId, port);
      return port;
    };
    const onStateChange = () => {
      for (const listener of listeners) listener(job.instanceId);
    };
    const command = job.command ?? build.command;
    return startInstance(deps, { job, newPort, ...build, command, onStateChange });
  }

  const runs = new Map<string, { abort: AbortController; ended: Promise<unknown> }>();

  async function run(job: RunJob): Promise<RunResult> {
    const { command: _, ...build } = await findBuild(job);
    const abort = new AbortController();
    const signal = AbortSignal.any([job.signal, abort.signal]);
    const port = await findFreePort(isTaken);
    const running = runCommand(deps, { job: { ...job, signal }, ...build, port });
    runs.set(job.runId, { abort, ended: running.catch(() => {}) });
    return running.finally(() => runs.delete(job.runId));
  }

  async function stopRun(id: string): Promise<void> {
    const found = runs.get(id);
    found?.abort.abort(new Error('The run was stopped.'));
    await found?.ended;
  }

  /** Several servers may ask for the same build at once. */
  const unpacking = new Map<string, Promise<void>>();

  function requireArtifact(artifact: Artifact) {
    const parsed = parseArtifact(artifact);
    if (!parsed) throw new Error('This artifact has no files.');
    return parsed;
  }

  async function unpack(
    artifact: Artifact,
    { openedBy = null, ...file }: UnpackedFile & Partial<PackedFile>,
  ) {
    const parsed = requireArtifact(artifact);
    if (await hasBuild(deps, parsed)) return;
    await unpackBuild(deps, parsed, { ...file, openedBy });
  }

  function forget(id: string): void {
    instances.delete(id);
    ports.delete(id);
  }

  const found = async (id: string) => (await instances.get(id)?.catch(() => null)) ?? null;
  const startedAs = ({ job, address }: Instance): StartedInstance => ({
    handle: { instanceId: job.instanceId },
    address: address(),
  });

  return {
    kind: 'process',
    node: nodes.own,
    endsWithServer: true,
    refuses: async (requirements) => findUnsupported(requirements) ?? isolation.findProblem(),
    build: (job) => buildApp(deps, job),
    run,
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
      await stopRun(instanceId);
      const instance = await found(instanceId);
      if (!instance) return;
      await instance.stop(graceMs);
      forget(instanceId);
    },
    getState: async ({ instanceId }) => (await found(instanceId))?.state() ?? { state: 'gone' },
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
    onStateChange: (listener) => void listeners.add(listener),
    isSandboxed: isolation.sandbox !== null,
    adaptVariables: adaptTo(isolation.sandbox ? options.isolation.gatewayPort : null),
    usage: async ({ instanceId }) => (await found(instanceId))?.usage() ?? null,
    async discard(artifact) {
      const parsed = parseArtifact(artifact);
      if (parsed) await discardArtifact(layout, parsed);
    },
    artifacts: () => listArtifacts(layout),
    hasBuild: async (artifact) => hasBuild(deps, requireArtifact(artifact)),
    packBuild: async (artifact, { path, openedBy = null }) =>
      packBuild(deps, requireArtifact(artifact), { path, openedBy }),
    unpackBuild(artifact, file) {
      const { buildId } = requireArtifact(artifact);
      const under = unpacking.get(buildId) ?? unpack(artifact, file).finally(() => unpacking.delete(buildId));
      unpacking.set(buildId, under);
      return under;
    },
    check: () => checkRuntime({ ...deps, holds: deps.groups.holds, controlGroups: options.controlGroups }),
    async close() {
      await Promise.all([...runs.keys()].map(stopRun));
      const all = await Promise.all([...instances.keys()].map(found));
      await Promise.allSettled(all.map((instance) => instance?.stop(deps.times.closeGraceMs)));
      instances.clear();
      deps.watch.close();
      deps.disk.close();
      await deps.groups.removeNode(nodes.own);
      nodes.release();
    },
  };
}

/** Without `SVC_BASE_URL`, which is also the issuer in signed tokens. */
const gatewayVariables = ['SVC_API_URL', 'SVC_APP_TOKEN_URL', 'SVC_USER_KEYS_URL', 'SVC_STORAGE_URL'];

export function adaptTo(gatewayPort: number | null): NonNullable<Runtime['adaptVariables']> {
  return (variables) =>
    Object.fromEntries(
      Object.entries(variables).map(([name, value]) => {
        if (gatewayPort === null || !gatewayVariables.includes(name)) return [name, value];
        const { pathname, search } = new URL(value);
        return [name, `http://127.0.0.1:${gatewayPort}${pathname === '/' ? '' : pathname}${search}`];
      }),
    );
}
