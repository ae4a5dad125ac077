import { type CpuTimes, canWait, cpuDifference, cpuTimes, othersShareMax, waitUntilIdle } from './cpu.ts';

export interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface CountedFigures extends Figures {
  count: number;
  seconds: number;
}

export interface Measurement extends Figures {
  cpu: { serverUs: number; postgresUs: number };
  othersShare: number;
}

export interface Processes {
  server: number | null;
  postmaster: number;
}

const attemptsMax = 3;

/** Repeats a measurement, up to a limit, while other processes use the machine; the least disturbed one counts. */
export async function measure(
  processes: Processes,
  warmUp: () => Promise<unknown>,
  work: () => Promise<CountedFigures>,
): Promise<Measurement> {
  let best: Measurement | null = null;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    await waitUntilIdle();
    await warmUp();
    const before = cpuTimes(processes);
    const { count, seconds, ...figures } = await work();
    // Backends of closed connections still exit; their CPU time would be lost between two readings.
    await Bun.sleep(300);
    const used = cpuDifference(before, cpuTimes(processes));
    const result = { ...figures, cpu: cpuPerUnit(used, count), othersShare: used.others / seconds };
    if (best === null || result.othersShare < best.othersShare) best = result;
    if (best.othersShare <= othersShareMax || !canWait()) break;
  }
  if (best === null) throw new Error('Nothing was measured.');
  return best;
}

export function medianRound(rounds: readonly Measurement[]): Measurement {
  const sorted = [...rounds].sort((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!middle) throw new Error('Nothing was measured.');
  return middle;
}

/** Of rounds that took turns: a machine whose speed changes changes it for both of a round. */
export function medianRatio(rounds: readonly number[], limits: readonly number[]): number {
  return percentile(
    rounds.map((perSecond, at) => perSecond / (limits[at] ?? Number.NaN)),
    0.5,
  );
}

function cpuPerUnit(used: CpuTimes, count: number) {
  return { serverUs: (used.server * 1e6) / count, postgresUs: (used.postgres * 1e6) / count };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
