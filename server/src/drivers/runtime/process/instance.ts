import { join } from 'node:path';
import type { InstanceState, StartJob } from '../runtime.ts';
import { askToEnd, endTree, livingOf, signalGroup, type Tree } from './end-tree.ts';
import { environmentOfRun } from './environment.ts';
import { isFree } from './free-port.ts';
import { setGuard } from './guard.ts';
import { type Ending, type Launched, launch } from './launch.ts';
import { checkedId } from './layout.ts';
import { isOpenToOthers, usersListeningAt } from './listeners.ts';
import { type Use, useOf } from './memory-watch.ts';
import { groupFor, type Parts, processesOf, watchedBytes } from './parts.ts';
import { keepProcess, makeRunFolder, neighboursOf } from './process-file.ts';
import { readProcessTable, treeOf } from './process-table.ts';
import { makeOwnFolder, removeTree } from './trees.ts';

/** One place where an app runs: its process, started again when it ends, until it is stopped. */
export interface Instance {
  job: StartJob;
  /** Another one after a restart where somebody has taken it meanwhile. */
  port(): number;
  state(): InstanceState;
  usage(): Use | null;
  stop(graceMs: number): Promise<void>;
}

export interface InstanceWish {
  job: StartJob;
  newPort: () => Promise<number>;
  /** Where the command is run. */
  dir: string;
  command: string;
  /** It does not run any more, or does again. */
  onTurn: () => void;
}

export async function startInstance(parts: Parts, wish: InstanceWish): Promise<Instance> {
  const { job, dir, command } = wish;
  const { times, users, node } = parts;
  const id = checkedId(job.instanceId);
  const user = users.ofInstance(job.number);
  const folder = join(parts.layout.run, id);
  const folders = { home: join(folder, 'home'), tmp: join(folder, 'tmp') };
  makeRunFolder(folder, { node, user });
  for (const own of [folders.home, folders.tmp]) await makeOwnFolder(own, user);
  const group = groupFor(parts, id, job.limits);
  const guard = await setGuard(users, { mark: id, user });

  let port = await wish.newPort();
  let running: Launched | null = null;
  let state: InstanceState = { state: 'running', restarts: 0 };
  let restarts = 0;
  let inRow = 0;
  let stopping: Promise<void> | null = null;
  let timer: Timer | undefined;
  /** What follows the end of a process; none is started before it is done. */
  let afterwards = Promise.resolve();
  let killsSeen = 0;
  let isOverMemory = false;
  let use: Use = { cpuMs: 0, memoryBytes: 0 };
  let cpuMsBefore = 0;
  let isToldOpen = false;
  const neighbours = () => neighboursOf(parts.layout.run, { mark: id, user });
  const treeWith = (leader: number | null): Tree => ({ mark: id, users, user, group, leader, neighbours });

  async function begin(): Promise<void> {
    const began = performance.now();
    if (restarts > 0 && !(await isFree(port))) port = await wish.newPort();
    const { preload } = parts.layout;
    const env = environmentOfRun(parts.surroundings, { job: job.env, folders, port, preload });
    // Empty between two processes, it may have been taken for one that was forgotten.
    groupFor(parts, id, job.limits);
    const processesMax = processesOf(job.limits);
    const { log } = job;
    const launched = await launch(users, { command, dir, mark: id, user, group, env, processesMax, log });
    guard.lead(launched.identity.pid);
    keepProcess(folder, { identity: launched.identity, node, user });
    running = launched;
    isOverMemory = false;
    state = { state: 'running', restarts };
    if (restarts > 0) wish.onTurn();
    const leader = launched.identity.pid;
    const watching = parts.watch.add({
      leader,
      bytesMax: watchedBytes(parts, job.limits),
      onTooMuch: () => {
        isOverMemory = true;
        signalGroup(leader, 'SIGKILL');
      },
      onUse: (seen) => {
        use = seen;
        tellOpen();
        // Linux may have ended a part of it for want of memory, which leaves half an app.
        if (!isOverMemory && (group?.memoryKills() ?? 0) > killsSeen) {
          isOverMemory = true;
          signalGroup(leader, 'SIGKILL');
        }
      },
    });
    afterwards = launched.ended.then(async (ending) => {
      watching.stop();
      running = null;
      if (stopping) return;
      state = { state: 'restarting', restarts, detail: `The app ${ending.how}.` };
      wish.onTurn();
      await onEnd(ending, launched, performance.now() - began);
    });
    afterwards.catch((error: unknown) => {
      state = { state: 'failed', restarts, detail: `It could not be started again: ${String(error)}` };
      job.log('platform', state.detail);
    });
  }

  /** Where it could not be helped: its owners can. */
  function tellOpen(): void {
    if (isToldOpen || !isOpenToOthers(port)) return;
    isToldOpen = true;
    job.log(
      'platform',
      `The app listens on all addresses of this machine, so that others reach port ${port} past its visibility. Let it listen on HOST (127.0.0.1).`,
    );
  }

  async function onEnd(ending: Ending, launched: Launched, upMs: number): Promise<void> {
    await endTree(treeWith(launched.identity.pid));
    guard.lead(null);
    await Promise.race([launched.silent, Bun.sleep(silenceMsMax)]);
    const kills = group?.memoryKills() ?? 0;
    const how = isOverMemory || kills > killsSeen ? outOfMemory(job) : ending.how;
    killsSeen = kills;
    cpuMsBefore += use.cpuMs;
    use = { cpuMs: 0, memoryBytes: 0 };
    if (stopping) return;
    inRow = upMs >= times.steadyMs ? 1 : inRow + 1;
    if (inRow > times.restartsMax) {
      state = { state: 'failed', restarts, detail: `The app ${how}; it was given up after ${inRow} times.` };
      job.log('platform', state.detail);
      return;
    }
    const waitMs = Math.min(times.restartMsMax, times.restartMsMin * 2 ** (inRow - 1));
    state = { state: 'restarting', restarts, detail: `The app ${how}.` };
    job.log('platform', `The app ${how}. It is started again in ${waitMs / 1000} s.`);
    timer = setTimeout(() => {
      restarts += 1;
      afterwards = begin().catch((error: unknown) => {
        state = { state: 'failed', restarts, detail: `It could not be started again: ${String(error)}` };
        job.log('platform', state.detail);
      });
    }, waitMs);
  }

  async function stop(graceMs: number): Promise<void> {
    clearTimeout(timer);
    const launched = running;
    if (launched) {
      const deadline = Date.now() + graceMs;
      askToEnd(treeWith(launched.identity.pid));
      await Promise.race([launched.ended, Bun.sleep(graceMs)]);
      // What it started may still be at its last requests.
      while (Date.now() < deadline && livingOf(treeWith(launched.identity.pid)).length > 0)
        await Bun.sleep(20);
    }
    if (launched) await endTree(treeWith(launched.identity.pid));
    await afterwards.catch(() => {});
    // One that was just about to be started again.
    await endTree(treeWith(null));
    if (launched) await Promise.race([launched.silent, Bun.sleep(silenceMsMax)]);
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
    port: () => port,
    state: () => (state.state === 'running' ? (portTaken(port, user?.uid, restarts) ?? state) : state),
    usage() {
      if (!running) return { cpuMs: Math.round(group?.cpuMs() ?? cpuMsBefore), memoryBytes: 0 };
      const now = useOf(treeOf(running.identity.pid, readProcessTable()));
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

/** Another could have taken its port, and would be handed its requests. */
function portTaken(port: number, uid: number | undefined, restarts: number): InstanceState | null {
  if (uid === undefined || usersListeningAt(port).every((other) => other === uid)) return null;
  return { state: 'failed', restarts, detail: `Port ${port} is in use by another program.` };
}

/** For what has been said to arrive, once everything has been ended. */
const silenceMsMax = 1_000;

const outOfMemory = ({ limits }: StartJob) => `was out of memory (${limits.memoryMb} MiB)`;
