import type { ProcessRow } from './process-trees.ts';

/** The size of the bucket, and the longest pause of an app that starts to use more than its share, in time of its cores. */
const burstMs = 1_000;
/** The longest pause of an app that goes on: on many cores it may use as much before it is looked at again. */
const pauseMsMax = 60_000;

interface CpuTimes {
  own: number;
  children: number;
}

/**
 * The CPU time that an app may use, as a bucket that fills with its share. `spend` takes out what its processes have used since
 * the last call, and returns whether they have to pause.
 */
export interface CpuShare {
  spend(tree: readonly ProcessRow[], nowMs: number): boolean;
  /** Whether the app has used more than its share, and the bucket is not full again. */
  isBusy(): boolean;
}

export function createCpuShare(cores: number, startedMs: number): CpuShare {
  let seen = new Map<number, CpuTimes>();
  let lastMs = startedMs;
  let left = cores * burstMs;
  /** Since it used more than its share, until the bucket is full again. */
  let isBusy = false;
  return {
    spend(tree, nowMs) {
      const now = new Map(tree.map((row) => [row.pid, cpuTimes(row)]));
      const used = usedSince(seen, now);
      const debtMax = cores * (isBusy ? pauseMsMax : burstMs);
      left = Math.min(cores * burstMs, left + cores * (nowMs - lastMs)) - used;
      left = Math.max(-debtMax, left);
      seen = now;
      lastMs = nowMs;
      isBusy = left < 0 || (isBusy && left < cores * burstMs);
      return left < 0;
    },
    isBusy: () => isBusy,
  };
}

const cpuTimes = ({ cpuMs, childrenCpuMs }: ProcessRow): CpuTimes => ({
  own: cpuMs - childrenCpuMs,
  children: childrenCpuMs,
});

/** A parent gets the times of a child that it has waited for: those were counted as the child's own before. */
function usedSince(before: ReadonlyMap<number, CpuTimes>, now: ReadonlyMap<number, CpuTimes>): number {
  let [own, children, ended] = [0, 0, 0];
  for (const [pid, times] of now) {
    const last = before.get(pid) ?? { own: 0, children: 0 };
    own += Math.max(0, times.own - last.own);
    children += Math.max(0, times.children - last.children);
  }
  for (const [pid, times] of before) if (!now.has(pid)) ended += times.own + times.children;
  return own + Math.max(0, children - ended);
}
