import { join } from 'node:path';
import type { PortFinder } from '../look-for-port.ts';
import { type InstanceState, processLimit, type StartJob } from '../runtime.ts';
import { runEnvironment } from './environment.ts';
import { findPort } from './find-port.ts';
import { checkId, listNeighbours, makeRunFolder, planRunFiles, writeProcessFile } from './folders.ts';
import { findServices } from './isolation.ts';
import { type ExitResult, type LaunchedProcess, launch, startGuard } from './launch.ts';
import { isPortFree, listensPublicly, listListeningUsers } from './network.ts';
import {
  createGroup,
  limitsToWatch,
  type ProcessDeps,
  sumUsage,
  toolFolders,
  type Usage,
  visibleEnvironment,
} from './process-deps.ts';
import {
  endTree,
  listLiving,
  listTree,
  type ProcessTree,
  readProcessTable,
  requestEnd,
  signalGroup,
} from './process-trees.ts';
import { removeTree } from './trees.ts';

export interface Instance {
  job: StartJob;
  address(): string;
  state(): InstanceState;
  usage(): Usage | null;
  stop(graceMs: number): Promise<void>;
}

export interface InstanceOptions {
  job: StartJob;
  newPort: () => Promise<number>;
  /** The artifact, and its path and that of the app's folder in the sandbox. */
  tree: string;
  treeInside: string;
  dir: string;
  command: string;
  tools: readonly string[];
  onStateChange: () => void;
}

export async function startInstance(deps: ProcessDeps, options: InstanceOptions): Promise<Instance> {
  const { job, command, tools } = options;
  const { times, users, node } = deps;
  const id = checkId(job.instanceId);
  const user = users.ofInstance(job.number);
  const folder = join(deps.layout.run, id);
  const { sandbox, egress } = deps.isolation;
  const hasPort = job.command === undefined;
  const services = await findServices(job.services ?? []);
  const files = planRunFiles(deps, { ...options, folder, user });
  const { home, tmp, dir } = files;
  const folders = { home, tmp: sandbox ? '/tmp' : tmp };
  makeRunFolder(folder, { node, user });
  await files.create();
  const group = createGroup(deps, id, job.limits);
  const guard = await startGuard(users, { mark: id, user });

  let port = await options.newPort();
  let running: LaunchedProcess | null = null;
  let finder: PortFinder | null = null;
  let watching: { stop(): void } | null = null;
  let state: InstanceState = { state: 'running', restarts: 0 };
  let restarts = 0;
  let failuresInRow = 0;
  let stopping: Promise<void> | null = null;
  let timer: Timer | undefined;
  let afterwards = Promise.resolve();
  let killsSeen = 0;
  let isOverMemory = false;
  let overDisk: string | null = null;
  let use: Usage = { cpuMs: 0, memoryBytes: 0 };
  let cpuMsBefore = 0;
  let isWarned = false;
  const neighbours = () => listNeighbours(deps.layout.run, { mark: id, user });
  const treeWith = (leader: number | null): ProcessTree => ({
    mark: id,
    users,
    user,
    group,
    leader,
    neighbours,
    isSandboxed: sandbox !== null,
  });

  async function begin(): Promise<void> {
    const began = performance.now();
    if (restarts > 0 && !(await isPortFree(port))) port = await options.newPort();
    const preload = sandbox ? null : deps.layout.preload;
    const env = runEnvironment(visibleEnvironment(deps, tools), { job: job.env, folders, port, preload });
    const mounted = [
      ...files.mounted,
      ...toolFolders(deps.toolchainDir, tools).map((path) => ({ path, isWritable: false })),
    ];
    createGroup(deps, id, job.limits);
    const processesMax = processLimit(job.limits);
    const { log } = job;
    const launched = await launch(users, {
      command,
      dir,
      mark: id,
      user,
      group,
      env,
      processesMax,
      log,
      sandbox: sandbox && {
        sandbox,
        box: { user, folders: mounted, tmp, port: hasPort ? port : null, egress, ...services },
      },
    });
    guard.lead([launched.identity.pid]);
    writeProcessFile(folder, { identity: launched.identity, node, user });
    running = launched;
    isOverMemory = false;
    state = { state: 'running', restarts };
    if (restarts > 0) options.onStateChange();
    const leader = launched.identity.pid;
    if (sandbox && hasPort)
      finder = findPort({
        sandbox,
        user,
        mark: id,
        leader,
        port,
        hostPorts: services.hostPorts,
        newPort: options.newPort,
        log,
        onChange: options.onStateChange,
        onForward: (pid) => guard.lead(pid === null ? [leader] : [leader, pid]),
      });
    watching = deps.watch.add({
      leader,
      ...limitsToWatch(deps, job.limits),
      onTooMuch: () => {
        isOverMemory = true;
        signalGroup(leader, 'SIGKILL');
      },
      onUse: (seen) => {
        use = seen;
        warnIfPublic();
        // The kernel may have killed only some of the app's processes.
        if (!isOverMemory && (group?.memoryKills() ?? 0) > killsSeen) {
          isOverMemory = true;
          signalGroup(leader, 'SIGKILL');
        }
      },
    });
    const disk = deps.disk.add({
      measure: files.measure,
      leader,
      mbMax: job.limits.diskMb,
      onTooMuch(reason) {
        overDisk = reason;
        signalGroup(leader, 'SIGKILL');
      },
    });
    const watched = watching;
    afterwards = launched.ended.then(async (ending) => {
      watched.stop();
      disk.stop();
      running = null;
      if (stopping) return;
      state = { state: 'restarting', restarts, detail: `The app ${ending.how}.` };
      options.onStateChange();
      await onEnd(ending, launched, performance.now() - began);
    });
    afterwards.catch((error: unknown) => {
      state = { state: 'failed', restarts, detail: `The app could not be restarted: ${String(error)}` };
      job.log('platform', state.detail);
    });
  }

  function warnIfPublic(): void {
    if (isWarned || sandbox || !hasPort || !listensPublicly(port)) return;
    isWarned = true;
    job.log(
      'platform',
      `The app listens on all addresses of this machine, so port ${port} is accessible regardless of the app's visibility. Listen on HOST (127.0.0.1) instead.`,
    );
  }

  async function onEnd(ending: ExitResult, launched: LaunchedProcess, upMs: number): Promise<void> {
    await finder?.close();
    await endTree(treeWith(launched.identity.pid));
    guard.lead([]);
    await Promise.race([launched.outputEnded, Bun.sleep(outputMsMax)]);
    const kills = group?.memoryKills() ?? 0;
    const how = overDisk ?? (isOverMemory || kills > killsSeen ? describeOutOfMemory(job) : ending.how);
    if (overDisk !== null) await emptyFolders();
    killsSeen = kills;
    cpuMsBefore += use.cpuMs;
    use = { cpuMs: 0, memoryBytes: 0 };
    if (stopping) return;
    failuresInRow = upMs >= times.steadyMs ? 1 : failuresInRow + 1;
    if (failuresInRow > times.restartsMax) {
      state = {
        state: 'failed',
        restarts,
        detail: `The app ${how}; given up after ${failuresInRow} attempts.`,
      };
      job.log('platform', state.detail);
      return;
    }
    const waitMs = Math.min(times.restartMsMax, times.restartMsMin * 2 ** (failuresInRow - 1));
    state = { state: 'restarting', restarts, detail: `The app ${how}.` };
    job.log('platform', `The app ${how}. Restarting in ${waitMs / 1000} s.`);
    timer = setTimeout(() => {
      restarts += 1;
      afterwards = begin().catch((error: unknown) => {
        state = { state: 'failed', restarts, detail: `The app could not be restarted: ${String(error)}` };
        job.log('platform', state.detail);
      });
    }, waitMs);
  }

  /** Without what the app has written it can start again. */
  async function emptyFolders(): Promise<void> {
    overDisk = null;
    await files.remove();
    await files.create();
  }

  async function stop(graceMs: number): Promise<void> {
    clearTimeout(timer);
    const launched = running;
    if (launched) {
      const deadline = Date.now() + graceMs;
      // A paused app would not receive the signal.
      watching?.stop();
      requestEnd(treeWith(launched.identity.pid));
      await Promise.race([launched.ended, Bun.sleep(graceMs)]);
      await finder?.close();
      while (Date.now() < deadline && listLiving(treeWith(launched.identity.pid)).length > 0)
        await Bun.sleep(20);
    }
    if (launched) await endTree(treeWith(launched.identity.pid));
    await afterwards.catch(() => {});
    await endTree(treeWith(null));
    if (launched) await Promise.race([launched.outputEnded, Bun.sleep(outputMsMax)]);
    guard.dismiss();
    await group?.remove();
    await removeTree(folder);
  }

  try {
    await begin();
  } catch (error) {
    await stop(0);
    throw error;
  }

  return {
    job,
    address: () => finder?.address() ?? `127.0.0.1:${port}`,
    state() {
      if (state.state !== 'running') return state;
      if (!hasPort) return state;
      const found = finder && { address: finder.address(), unreachable: finder.unreachable() };
      return findPortConflict(port, user?.uid, restarts) ?? { ...state, ...found };
    },
    usage() {
      if (!running) return { cpuMs: Math.round(group?.cpuMs() ?? cpuMsBefore), memoryBytes: 0 };
      const now = sumUsage(listTree(running.identity.pid, readProcessTable()));
      if (process.platform !== 'linux') return null;
      use = now;
      return {
        cpuMs: Math.round(group?.cpuMs() ?? cpuMsBefore + now.cpuMs),
        memoryBytes: group?.memoryBytes() ?? now.memoryBytes,
      };
    },
    stop: (graceMs) => {
      stopping ??= stop(graceMs);
      return stopping;
    },
  };
}

/** Another user's program on the port would receive the app's requests. */
function findPortConflict(port: number, uid: number | undefined, restarts: number): InstanceState | null {
  if (uid === undefined || listListeningUsers(port).every((other) => other === uid)) return null;
  return { state: 'failed', restarts, detail: `Port ${port} is in use by another program.` };
}

const outputMsMax = 1_000;

const describeOutOfMemory = ({ limits }: StartJob) => `ran out of memory (${limits.memoryMb} MiB)`;
