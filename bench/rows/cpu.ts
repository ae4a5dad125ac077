import { readdirSync, readFileSync } from 'node:fs';

/** Seconds of processor time used so far. */
export interface CpuTimes {
  server: number;
  postgres: number;
  /** By everybody on the machine who is no part of the measurement. */
  others: number;
}

const ticksPerSecond = Number(Bun.spawnSync(['getconf', 'CLK_TCK']).stdout.toString()) || 100;

export function cpuTimes(parts: { server: number | null; postmaster: number }): CpuTimes {
  const server = parts.server === null ? 0 : own(parts.server);
  const postgres =
    withEnded(parts.postmaster) + childrenOf(parts.postmaster).reduce((sum, pid) => sum + own(pid), 0);
  // Load generators are ours, and counted here once they have ended.
  const ours = server + postgres + withEnded(process.pid);
  return { server, postgres, others: machine() - ours };
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return {
    server: after.server - before.server,
    postgres: after.postgres - before.postgres,
    others: Math.max(0, after.others - before.others),
  };
}

/** Waits until others leave the machine alone, but not for ever: then the figures are marked. */
export async function untilQuiet(): Promise<void> {
  while (patienceSeconds > 0) {
    const before = machine() - withEnded(process.pid);
    await Bun.sleep(1000);
    // What is ours idles between measurements.
    if (machine() - withEnded(process.pid) - before < othersShareMax) return;
    patienceSeconds--;
  }
}

export const isPatient = () => patienceSeconds > 0;

/** Of one run, all its waits together. */
let patienceSeconds = Number(process.env.SVC_BENCH_PATIENCE ?? 300);

/** Of one core. Beyond it a figure says more about the others. */
export const othersShareMax = 0.15;

function machine(): number {
  const [, user, nice, system] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? [];
  return ((user ?? 0) + (nice ?? 0) + (system ?? 0)) / ticksPerSecond;
}

/** Behind the name, which may hold anything. */
function fields(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
}

const own = (pid: number) => {
  const values = fields(pid);
  return ((values[11] ?? 0) + (values[12] ?? 0)) / ticksPerSecond;
};

const withEnded = (pid: number) => {
  const values = fields(pid);
  return own(pid) + ((values[13] ?? 0) + (values[14] ?? 0)) / ticksPerSecond;
};

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => fields(pid)[1] === parent);
}
