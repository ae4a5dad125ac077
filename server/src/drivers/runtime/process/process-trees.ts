import { readdirSync } from 'node:fs';
import { tryReadText } from '../../os/files.ts';
import { runProgram } from '../../os/processes.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroup } from './control-groups.ts';
import { runIdVariable } from './environment.ts';

export interface ProcessTree {
  mark: string;
  users: AppUsers;
  user: AppUser | null;
  group: ControlGroup | null;
  leader: number | null;
  neighbours(): Neighbour[];
  isSandboxed?: boolean;
}

export interface Neighbour {
  mark: string;
  leader: number | null;
}

/**
 * With an own user: all its processes, except those of neighbours. Otherwise only those with the mark or in
 * the control group, because a process ID may have been reused.
 */
export function listLiving(tree: ProcessTree): number[] {
  const table = readProcessTable();
  const uid = tree.user?.uid ?? process.getuid?.();
  const own = table.filter(({ pid }) => pid !== process.pid && readUid(pid) === uid);
  const found = tree.user ? withoutNeighbours(tree, own, table) : own.filter(({ pid }) => hasMark(pid, tree));
  const grouped = tree.group?.pids() ?? [];
  return [...new Set([...found.map(({ pid }) => pid), ...grouped])].filter((pid) => pid !== process.pid);
}

function withoutNeighbours(
  tree: ProcessTree,
  own: readonly ProcessRow[],
  table: readonly ProcessRow[],
): readonly ProcessRow[] {
  const neighbours = tree.neighbours();
  if (neighbours.length === 0) return own;
  const theirs = new Set(
    neighbours.flatMap(({ leader }) =>
      leader === null ? [] : listTree(leader, table).map(({ pid }) => pid),
    ),
  );
  const ours = new Set(tree.leader === null ? [] : listTree(tree.leader, table).map(({ pid }) => pid));
  return own.filter(({ pid }) => {
    if (ours.has(pid) || hasMark(pid, tree)) return true;
    return !theirs.has(pid) && !neighbours.some((neighbour) => hasMark(pid, neighbour));
  });
}

const hasMark = (pid: number, { mark }: Neighbour) => hasVariable(pid, `${runIdVariable}=${mark}`);

const roundsMax = 200;
const killAllEveryRounds = 4;

export async function endTree(tree: ProcessTree): Promise<void> {
  if (tree.leader !== null) signalGroup(tree.leader, 'SIGKILL');
  for (let round = 1; round <= roundsMax; round++) {
    const living = listLiving(tree);
    if (living.length === 0) return;
    for (const pid of living) signal(pid, 'SIGKILL');
    if (round % killAllEveryRounds === 0) await killAllOfUser(tree);
    await Bun.sleep(Math.min(5 + round, 50));
  }
  throw new Error(`Processes of ${tree.mark} cannot be killed: ${listLiving(tree).join(', ')}.`);
}

/** Kills all processes of a user at once, as that user, so that none can fork in between. */
async function killAllOfUser({ users, user, neighbours }: ProcessTree): Promise<void> {
  if (!user || neighbours().length > 0) return;
  const [program = '', ...args] = [...users.prefix(user), '/bin/sh', '-c', 'kill -s KILL -- -1'];
  await runProgram(program, args, { cwd: '/' });
}

export function requestEnd(tree: ProcessTree): void {
  if (tree.isSandboxed) {
    for (const pid of listInside(tree)) signal(pid, 'SIGTERM');
    return;
  }
  if (tree.leader !== null) signalGroup(tree.leader, 'SIGTERM');
  if (!tree.user) return;
  const table = new Map(readProcessTable().map((row) => [row.pid, row]));
  for (const pid of listLiving(tree)) if (table.get(pid)?.group !== tree.leader) signal(pid, 'SIGTERM');
}

/** Without the processes that keep the namespaces of a sandbox: they end with the app. */
function listInside({ leader }: ProcessTree): number[] {
  return leader === null ? [] : listDeepest(listTree(leader, readProcessTable()));
}

function listDeepest(tree: readonly ProcessRow[]): number[] {
  const found = tree.map(({ pid }) => ({ pid, ids: readNamespaceIds(pid) }));
  const depth = Math.max(...found.map(({ ids }) => ids.length));
  return found.filter(({ ids }) => ids.length === depth && ids.at(-1) !== 1).map(({ pid }) => pid);
}

/** Only processes of the app: those of its sandbox carry its connections and end it. */
export function pauseApp(tree: readonly ProcessRow[], { isSandboxed }: { isSandboxed: boolean }): void {
  for (const pid of isSandboxed ? listDeepest(tree) : tree.map((row) => row.pid)) signal(pid, 'SIGSTOP');
}

export function continueApp(tree: readonly ProcessRow[]): void {
  for (const { pid } of tree) signal(pid, 'SIGCONT');
}

/** The ID of a process in each of its process namespaces, from outer to inner. */
function readNamespaceIds(pid: number): number[] {
  const line = /^NSpid:\t(.*)$/m.exec(tryReadText(`/proc/${pid}/status`) ?? '')?.[1];
  return (line ?? '').split('\t').map(Number);
}

export function signalGroup(leader: number, name: NodeJS.Signals): void {
  signal(process.platform === 'win32' ? leader : -leader, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The process has ended. On macOS a group of zombies gives EPERM.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** With that of children which it has waited for. */
  cpuMs: number;
  childrenCpuMs: number;
  residentBytes: number;
}

// The same on all supported architectures.
const ticksPerSecond = 100;
const milliseconds = (ticks: number) => (ticks * 1000) / ticksPerSecond;
const pageBytes = 4096;

export function readProcessTable(): ProcessRow[] {
  return listPids().flatMap((pid) => readRow(pid) ?? []);
}

function listPids(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function readRow(pid: number): ProcessRow | null {
  const stat = tryReadText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const number = (at: number) => Number(fields[at]);
  return {
    pid,
    parent: number(1),
    group: number(2),
    session: number(3),
    cpuMs: milliseconds(number(11) + number(12) + number(13) + number(14)),
    childrenCpuMs: milliseconds(number(13) + number(14)),
    residentBytes: number(21) * pageBytes,
  };
}

/** All its threads: none runs, waits for the CPU or for a disk, or is paused. */
export function isSleeping(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = tryReadText(`/proc/${pid}/task/${thread}/stat`);
      return stat === null || !/[RDTt]/.test(stat.charAt(stat.lastIndexOf(')') + 2));
    });
  } catch {
    return true;
  }
}

export function listTree(leader: number, table: readonly ProcessRow[]): ProcessRow[] {
  const found = new Set(table.filter(({ pid, session }) => pid === leader || session === leader));
  const known = new Set([...found].map(({ pid }) => pid));
  for (let before = -1; before !== known.size; ) {
    before = known.size;
    for (const row of table) {
      if (known.has(row.pid) || !known.has(row.parent)) continue;
      known.add(row.pid);
      found.add(row);
    }
  }
  return [...found];
}

export function proportionalBytes(rows: readonly ProcessRow[]): number {
  return rows.reduce((sum, { pid, residentBytes }) => {
    const kilobytes = /^Pss:\s+(\d+) kB/m.exec(tryReadText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
    return sum + (kilobytes === undefined ? residentBytes : Number(kilobytes) * 1024);
  }, 0);
}

/** From the status file, because a process can change the owner of its folder in /proc. */
export function readUid(pid: number): number | null {
  const uid = /^Uid:\t(\d+)/m.exec(tryReadText(`/proc/${pid}/status`) ?? '')?.[1];
  return uid === undefined ? null : Number(uid);
}

function hasVariable(pid: number, variable: string): boolean {
  return (tryReadText(`/proc/${pid}/environ`) ?? '').split('\0').includes(variable);
}
