import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** A process ID with its start time, since the ID alone is soon reused. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

export function findProcess(pid: number): ProcessIdentity | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  if (process.platform === 'linux') return findProcessByProc(pid);
  if (!answersSignals(pid)) return null;
  return { pid, started: process.platform === 'darwin' ? startedByPs(pid) : '' };
}

export function isRunning(identity: ProcessIdentity): boolean {
  return findProcess(identity.pid)?.started === identity.started;
}

function findProcessByProc(pid: number): ProcessIdentity | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The command name is in parentheses and can contain spaces and parentheses, so count from the last one.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie keeps its ID until its parent waits for it; in containers without an init, for ever.
  if (state === 'Z' || state === 'X') return null;
  const ticksSinceBoot = rest[18] ?? '';
  return { pid, started: `${bootId()}:${ticksSinceBoot}` };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

export function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startedByPs(pid: number): string {
  return spawnSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}

/** For the rest of the output. A process that the program left behind may hold its output open for ever. */
const outputMsMax = 1_000;

/** After `limitMs` the program is killed, with all processes of its group. */
export function runProgram(
  program: string,
  args: string[],
  { limitMs, ...options }: SpawnOptions & { limitMs?: number },
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const hasLimit = limitMs !== undefined;
    const run = spawn(program, args, { ...options, detached: hasLimit, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const limit = hasLimit ? setTimeout(endLate, limitMs) : undefined;
    function killGroup(): void {
      try {
        if (run.pid !== undefined) process.kill(-run.pid, 'SIGKILL');
      } catch {
        // It may not be ours any more.
      }
    }
    function endLate(): void {
      output += `\n${program} did not end within ${(limitMs ?? 0) / 1_000} seconds.`;
      killGroup();
      // The kernel ends some only later.
      setTimeout(finish, outputMsMax);
    }
    // Ctrl-C does not reach a group of its own.
    if (hasLimit) process.once('exit', killGroup);
    const forgetLimit = () => {
      clearTimeout(limit);
      process.off('exit', killGroup);
    };
    for (const stream of [run.stdout, run.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    run.once('error', (error) => {
      forgetLimit();
      resolve({ status: null, output: error.message });
    });
    const finish = () => resolve({ status: run.exitCode, output: output.trim() });
    run.once('close', finish);
    run.once('exit', () => {
      forgetLimit();
      const timer = setTimeout(() => {
        run.stdout?.destroy();
        run.stderr?.destroy();
        finish();
      }, outputMsMax);
      run.once('close', () => clearTimeout(timer));
    });
  });
}

const openFilesMin = 1_024;
const limitsFile = '/proc/self/limits';

/** Without files left, new connections wait in silence. Bun raises the soft limit to the hard one by itself. */
export function checkOpenFiles(): void {
  if (!existsSync(limitsFile)) return;
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync(limitsFile, 'utf8'))?.[1];
  if (hard === undefined || Number(hard) >= openFilesMin) return;
  throw new Error(
    `this process may open only ${hard} files, and needs at least ${openFilesMin}. Start it after "ulimit -n 65536", or set LimitNOFILE=65536 in the systemd unit.`,
  );
}
