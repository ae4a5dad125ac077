import { type CpuTimes, cpuBetween, cpuTimes, isPatient, othersShareMax, untilQuiet } from './cpu.ts';

export interface Figures {
  /** Of requests, or of rows where rows are counted. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Figures with what they are of. */
export interface Counted extends Figures {
  count: number;
  seconds: number;
}

export interface Measured extends Figures {
  cpu: { serverUs: number; postgresUs: number };
  /** Cores that others used meanwhile. */
  othersShare: number;
}

export interface Parts {
  server: number | null;
  postmaster: number;
}

const attemptsMax = 3;

/** Once more, up to a limit, where others took part of the machine meanwhile; the least disturbed counts. */
export async function measured(
  parts: Parts,
  warmUp: () => Promise<unknown>,
  work: () => Promise<Counted>,
): Promise<Measured> {
  let best: Measured | null = null;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    await untilQuiet();
    await warmUp();
    const before = cpuTimes(parts);
    const { count, seconds, ...figures } = await work();
    // Backends of connections just closed are on their way out: half gone they would be counted nowhere.
    await Bun.sleep(300);
    const used = cpuBetween(before, cpuTimes(parts));
    const result = { ...figures, cpu: perCount(used, count), othersShare: used.others / seconds };
    if (best === null || result.othersShare < best.othersShare) best = result;
    if (best.othersShare <= othersShareMax || !isPatient()) break;
  }
  if (best === null) throw new Error('Nothing was measured.');
  return best;
}

/** Of several rounds the quickest: what disturbs only ever makes slower. */
export function bestOf(rounds: readonly Measured[]): Measured {
  const [first, ...rest] = rounds;
  if (!first) throw new Error('Nothing was measured.');
  return rest.reduce((best, round) => (round.perSecond > best.perSecond ? round : best), first);
}

function perCount(used: CpuTimes, count: number) {
  return { serverUs: (used.server * 1e6) / count, postgresUs: (used.postgres * 1e6) / count };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
