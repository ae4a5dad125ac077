import { readdirSync, readFileSync } from 'node:fs';

export interface CpuTimes {
  server: number;
  postgres: number;
  others: number;
}

const ticksPerSecond = Number(Bun.spawnSync(['getconf', 'CLK_TCK']).stdout.toString()) || 100;

export function cpuTimes(processes: { server: number | null; postmaster: number }): CpuTimes {
  const { postmaster } = processes;
  // The workers are children of the supervisor.
  const server =
    processes.server === null
      ? 0
      : [processes.server, ...childProcesses(processes.server)]
          .filter((pid) => pid !== postmaster)
          .reduce((sum, pid) => sum + processSeconds(pid), 0);
  const postgres =
    secondsWithChildren(postmaster) +
    childProcesses(postmaster).reduce((sum, pid) => sum + processSeconds(pid), 0);
  // Load generators are child processes, counted here after they have exited.
  const ours = server + postgres + secondsWithChildren(process.pid);
  return { server, postgres, others: machineSeconds() - ours };
}

export function cpuDifference(before: CpuTimes, after: CpuTimes): CpuTimes {
  return {
    server: after.server - before.server,
    postgres: after.postgres - before.postgres,
    others: Math.max(0, after.others - before.others),
  };
}

export async function waitUntilIdle(): Promise<void> {
  while (waitSecondsLeft > 0) {
    const before = machineSeconds() - secondsWithChildren(process.pid);
    await Bun.sleep(1000);
    if (machineSeconds() - secondsWithChildren(process.pid) - before < othersShareMax) return;
    waitSecondsLeft--;
  }
}

export const canWait = () => waitSecondsLeft > 0;

let waitSecondsLeft = Number(process.env.SVC_BENCH_PATIENCE ?? 300);

/** Share of one core. Above it, other processes distort the figures. */
export const othersShareMax = 0.15;

function machineSeconds(): number {
  const [, user, nice, system] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? [];
  return ((user ?? 0) + (nice ?? 0) + (system ?? 0)) / ticksPerSecond;
}

/** The process name may contain spaces and parentheses: parse after its last parenthesis. */
function statFields(pid: number): number[] {
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

const processSeconds = (pid: number) => {
  const values = statFields(pid);
  return ((values[11] ?? 0) + (values[12] ?? 0)) / ticksPerSecond;
};

const secondsWithChildren = (pid: number) => {
  const values = statFields(pid);
  return processSeconds(pid) + ((values[13] ?? 0) + (values[14] ?? 0)) / ticksPerSecond;
};

function childProcesses(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statFields(pid)[1] === parent);
}
