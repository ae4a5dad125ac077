import type { Limits } from '../runtime.ts';
import type { AppUsers } from './app-users.ts';
import type { ControlGroup, ControlGroups } from './control-groups.ts';
import type { Surroundings } from './environment.ts';
import type { Layout } from './layout.ts';
import type { MemoryWatch } from './memory-watch.ts';

/** What building and running have in common. */
export interface Parts {
  node: string;
  layout: Layout;
  users: AppUsers;
  groups: ControlGroups;
  watch: MemoryWatch;
  surroundings: Surroundings;
  times: Times;
}

export interface Times {
  buildMsMax: number;
  /** Before the first restart; twice as long before each that follows. */
  restartMsMin: number;
  restartMsMax: number;
  /** One that ran so long is taken to be well. */
  steadyMs: number;
  /** So many restarts in a row, and it is given up. */
  restartsMax: number;
  /** For what still runs when the server ends. */
  closeGraceMs: number;
}

export function groupFor(parts: Parts, mark: string, limits: Limits): ControlGroup | null {
  return parts.groups.holds.size === 0 ? null : parts.groups.make(mark, limits);
}

/** Of the smallest tier 512, of greater ones more; threads are counted as well. */
export function processesOf({ memoryMb }: Limits): number {
  return Math.max(512, memoryMb);
}

/** What the watch has to see to; null: Linux itself does. */
export function watchedBytes(parts: Parts, { memoryMb }: Limits): number | null {
  return parts.groups.holds.has('memory') ? null : memoryMb * 1024 * 1024;
}
