import { existsSync, statfsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { isToolchainName, type Limits } from '../runtime.ts';
import type { AppUsers } from './app-users.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import { type CpuShare, createCpuShare } from './cpu-share.ts';
import type { BaseEnvironment } from './environment.ts';
import type { Layout } from './folders.ts';
import type { Isolation } from './isolation.ts';
import {
  continueApp,
  listTree,
  type ProcessRow,
  pauseApp,
  proportionalBytes,
  readProcessTable,
} from './process-trees.ts';
import { bytesOnDisk, type Measured } from './trees.ts';

export interface ProcessDeps {
  node: string;
  layout: Layout;
  users: AppUsers;
  isolation: Isolation;
  groups: ControlGroups;
  watch: UsageWatch;
  disk: DiskWatch;
  baseEnvironment: BaseEnvironment;
  toolchainDir: string;
  times: Times;
}

export interface Times {
  buildMsMax: number;
  restartMsMin: number;
  restartMsMax: number;
  steadyMs: number;
  restartsMax: number;
  closeGraceMs: number;
}

export function visibleEnvironment(
  { isolation, baseEnvironment, toolchainDir }: ProcessDeps,
  tools: readonly string[],
): BaseEnvironment {
  const path = isolation.sandbox?.path ?? baseEnvironment.path;
  return {
    ...baseEnvironment,
    path: [...toolFolders(toolchainDir, tools).map((it) => join(it, 'bin')), path].join(delimiter),
  };
}

/** Throws if a name is not one of a toolchain: it comes from the server. */
export function toolFolders(toolchainDir: string, tools: readonly string[]): string[] {
  return tools.map((name) => {
    if (!isToolchainName(name)) throw new Error(`Not a toolchain: ${JSON.stringify(name)}.`);
    return join(toolchainDir, name);
  });
}

export function createGroup(deps: ProcessDeps, mark: string, limits: Limits): ControlGroup | null {
  return deps.groups.holds.size === 0 ? null : deps.groups.make(mark, limits);
}

/** What no control group limits. */
export function limitsToWatch(
  { groups, isolation }: Pick<ProcessDeps, 'groups' | 'isolation'>,
  { cpu, memoryMb }: Limits,
): Pick<Watched, 'bytesMax' | 'cpuMax' | 'isSandboxed'> {
  return {
    bytesMax: groups.holds.has('memory') ? null : memoryMb * 1024 * 1024,
    cpuMax: groups.holds.has('cpu') || process.platform !== 'linux' ? null : cpu,
    isSandboxed: isolation.sandbox !== null,
  };
}

/** The limits of memory and CPU where no control group enforces them. */
interface UsageWatch {
  add(watched: Watched): { stop(): void };
  close(): void;
}

interface Watched {
  leader: number;
  bytesMax: number | null;
  /** In cores. */
  cpuMax: number | null;
  isSandboxed: boolean;
  onTooMuch: () => void;
  onUse: (use: Usage) => void;
}

export interface Usage {
  cpuMs: number;
  memoryBytes: number;
}

const watchIntervalMs = 1_000;
/** For apps that use more than their share. */
const pauseIntervalMs = 100;

export function createUsageWatch(): UsageWatch {
  const all = new Map<Watched, CpuShare | null>();
  const busy = new Set<Watched>();
  const paused = new Set<Watched>();
  let timer: Timer | undefined;
  let busyTimer: Timer | undefined;

  function check(): void {
    const table = readProcessTable();
    for (const [watched, share] of [...all]) {
      const { leader, bytesMax, onTooMuch, onUse } = watched;
      const tree = listTree(leader, table);
      const use = sumUsage(tree);
      onUse(use);
      if (bytesMax !== null && exceedsMemory(bytesMax, use, tree)) onTooMuch();
      if (!share || busy.has(watched) || !share.spend(tree, performance.now())) continue;
      busy.add(watched);
      pause(watched, tree);
    }
    if (busy.size > 0) busyTimer ??= setInterval(checkBusy, pauseIntervalMs);
  }

  function checkBusy(): void {
    const table = readProcessTable();
    for (const watched of busy) {
      const share = all.get(watched);
      if (!share) continue;
      const tree = listTree(watched.leader, table);
      // Again, because an app may have started processes while it was paused.
      if (share.spend(tree, performance.now())) pause(watched, tree);
      else if (paused.delete(watched)) continueApp(tree);
      if (!share.isBusy()) busy.delete(watched);
    }
    if (busy.size === 0) stopBusyTimer();
  }

  function pause(watched: Watched, tree: readonly ProcessRow[]): void {
    paused.add(watched);
    pauseApp(tree, watched);
  }

  function stopBusyTimer(): void {
    clearInterval(busyTimer);
    busyTimer = undefined;
  }

  function stopTimers(): void {
    clearInterval(timer);
    timer = undefined;
    stopBusyTimer();
  }

  return {
    add(watched) {
      all.set(watched, watched.cpuMax === null ? null : createCpuShare(watched.cpuMax, performance.now()));
      timer ??= setInterval(check, watchIntervalMs);
      return {
        stop() {
          all.delete(watched);
          busy.delete(watched);
          if (paused.delete(watched)) continueApp(listTree(watched.leader, readProcessTable()));
          if (all.size === 0) stopTimers();
        },
      };
    },
    close() {
      for (const watched of paused) continueApp(listTree(watched.leader, readProcessTable()));
      all.clear();
      busy.clear();
      paused.clear();
      stopTimers();
    },
  };
}

export function sumUsage(tree: readonly ProcessRow[]): Usage {
  return {
    cpuMs: tree.reduce((sum, row) => sum + row.cpuMs, 0),
    memoryBytes: tree.reduce((sum, row) => sum + row.residentBytes, 0),
  };
}

/** Resident memory counts shared pages several times, so the exact, slower value decides. */
function exceedsMemory(bytesMax: number, use: Usage, tree: readonly ProcessRow[]): boolean {
  return use.memoryBytes > bytesMax && proportionalBytes(tree) > bytesMax;
}

/** The files of one app or build, and what they may hold. */
interface WatchedFiles {
  /** May stop counting above the limit. */
  measure: (mbMax: number) => Promise<Measured>;
  /** Its processes may have files open that no folder lists any more. */
  leader?: number;
  mbMax: number;
  onTooMuch: (reason: string) => void;
}

export interface DiskWatch {
  add(watched: WatchedFiles): { stop(): void };
  close(): void;
}

const diskIntervalMs = 1_000;
const mb = 1024 * 1024;
/** Measuring the folders of a large build takes a second: at most this share of the time goes to it … */
const measuredShare = 0.05;
/** … unless the disk got fuller by so much that a limit may be exceeded, and by more than this. */
const fullerMb = 64;

interface DiskMeasurement {
  tookMs: number;
  /** Of the disk, afterwards. */
  freeBytes: number;
  /** What can be written before one of the watched exceeds its limit, or the disk its reserve. */
  roomBytes: number;
}

export function isMeasurementDue(
  { tookMs, freeBytes, roomBytes }: DiskMeasurement,
  now: { idleMs: number; freeBytes: number },
): boolean {
  return (
    now.idleMs * measuredShare >= tookMs || freeBytes - now.freeBytes > Math.max(fullerMb * mb, roomBytes)
  );
}

/** PostgreSQL needs it to go on. */
const standardReserveMb = 1_024;

/**
 * File systems have no quota that an ordinary user could set, so the files are measured. The disks of `folders` keep a
 * reserve for PostgreSQL: before it is used up, the app that holds most is stopped.
 */
export function createDiskWatch({
  folders,
  reserveMb = standardReserveMb,
}: {
  folders: readonly string[];
  reserveMb?: number | undefined;
}): DiskWatch {
  const all = new Set<WatchedFiles>();
  let isWatching = false;
  let last: DiskMeasurement = { tookMs: 0, freeBytes: 0, roomBytes: 0 };
  let endedAt = 0;

  async function check(): Promise<number> {
    const used = new Map<WatchedFiles, number>();
    const processes = readProcessTable();
    for (const watched of [...all]) {
      const { mbMax, leader } = watched;
      const listed = await watched.measure(mbMax);
      const unlisted = leader === undefined ? 0 : await measureUnlisted(listTree(leader, processes));
      if (!all.has(watched)) continue;
      const bytes = listed.bytes + unlisted;
      used.set(watched, bytes);
      if (bytes > mbMax * mb) stop(watched, `used more than ${mbMax} MiB of disk space`);
      else if (listed.problem !== undefined) stop(watched, listed.problem);
    }
    const [largest] = [...used].sort(([, a], [, b]) => b - a);
    if (largest && largest[1] > mb && free() < reserveMb * mb)
      stop(largest[0], 'was stopped because the disk of the machine is almost full');
    const left = [...all].map((it) => it.mbMax * mb - (used.get(it) ?? it.mbMax * mb));
    return Math.min(...left, free() - reserveMb * mb);
  }

  function stop(watched: WatchedFiles, reason: string): void {
    if (all.delete(watched)) watched.onTooMuch(reason);
  }

  const free = () => Math.min(...folders.map(freeBytes));

  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    for (; all.size > 0; await Bun.sleep(diskIntervalMs)) {
      const startedAt = performance.now();
      if (!isMeasurementDue(last, { idleMs: startedAt - endedAt, freeBytes: free() })) continue;
      const roomBytes = await check().catch(() => 0);
      endedAt = performance.now();
      last = { tookMs: endedAt - startedAt, freeBytes: free(), roomBytes };
    }
    isWatching = false;
  }

  return {
    add(watched) {
      all.add(watched);
      // Not measured yet.
      last.roomBytes = 0;
      void watch();
      return { stop: () => void all.delete(watched) };
    },
    close: () => all.clear(),
  };
}

/** A folder that was removed limits nothing. */
function freeBytes(folder: string): number {
  if (!existsSync(folder)) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Removed files take space as long as a process has them open. Those in memory have no other limit. */
async function measureUnlisted(processes: readonly ProcessRow[]): Promise<number> {
  const found = new Map<string, number>();
  for (const { pid } of processes) {
    const folder = `/proc/${pid}/fd`;
    for (const name of await readdir(folder).catch(() => [])) {
      const file = await stat(join(folder, name)).catch(() => null);
      if (file?.isFile() && file.nlink === 0) found.set(`${file.dev}:${file.ino}`, bytesOnDisk(file));
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}
