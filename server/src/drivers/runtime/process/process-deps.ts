import { delimiter, join } from 'node:path';
import { isToolchainName, type Limits } from '../runtime.ts';
import type { AppUsers } from './app-users.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import type { DiskWatch } from './disk-watch.ts';
import type { BaseEnvironment } from './environment.ts';
import type { Isolation } from './isolation.ts';
import type { Layout } from './layout.ts';
import { listTree, type ProcessRow, proportionalBytes, readProcessTable } from './process-trees.ts';

export interface ProcessDeps {
  node: string;
  layout: Layout;
  users: AppUsers;
  isolation: Isolation;
  groups: ControlGroups;
  watch: MemoryWatch;
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

export function processLimit({ memoryMb }: Limits): number {
  return Math.max(512, memoryMb);
}

export function memoryLimitToWatch(deps: ProcessDeps, { memoryMb }: Limits): number | null {
  return deps.groups.holds.has('memory') ? null : memoryMb * 1024 * 1024;
}

interface MemoryWatch {
  add(watched: Watched): { stop(): void };
  close(): void;
}

interface Watched {
  leader: number;
  bytesMax: number | null;
  onTooMuch: () => void;
  onUse: (use: Usage) => void;
}

export interface Usage {
  cpuMs: number;
  memoryBytes: number;
}

const watchIntervalMs = 1_000;

export function createMemoryWatch(): MemoryWatch {
  const all = new Set<Watched>();
  let timer: Timer | undefined;

  function check(): void {
    const table = readProcessTable();
    for (const { leader, bytesMax, onTooMuch, onUse } of [...all]) {
      const tree = listTree(leader, table);
      const use = sumUsage(tree);
      onUse(use);
      if (bytesMax !== null && exceedsMemory(bytesMax, use, tree)) onTooMuch();
    }
  }

  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(watched) {
      all.add(watched);
      timer ??= setInterval(check, watchIntervalMs);
      return {
        stop() {
          all.delete(watched);
          if (all.size === 0) stopTimer();
        },
      };
    },
    close() {
      all.clear();
      stopTimer();
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
