import { runProgram } from '../../database/run-program.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroup } from './control-groups.ts';
import { markName } from './environment.ts';
import { type ProcessRow, readProcessTable, treeOf, userOf, wasStartedWith } from './process-table.ts';

/** By what the processes of an instance or a build are found. */
export interface Tree {
  /** The id that each of them was started with. */
  mark: string;
  users: AppUsers;
  user: AppUser | null;
  group: ControlGroup | null;
  /** The first of them, whose number is that of their group and session; null where it may be another's by now. */
  leader: number | null;
  /** Who else lives as the same user. */
  neighbours(): Neighbour[];
}

export interface Neighbour {
  mark: string;
  leader: number | null;
}

/**
 * Those that run, as far as it is certain that they are ours. With a user of their own that is everything of the user,
 * wherever it went and whatever it has forgotten, but for what is a neighbour's. Without, a number alone says nothing,
 * since it may have been given to another: each bears the mark or is in our control group.
 */
export function livingOf(tree: Tree): number[] {
  const table = readProcessTable();
  const uid = tree.user?.uid ?? process.getuid?.();
  const own = table.filter(({ pid }) => pid !== process.pid && userOf(pid) === uid);
  const found = tree.user ? withoutNeighbours(tree, own, table) : own.filter(({ pid }) => bears(pid, tree));
  const grouped = tree.group?.pids() ?? [];
  return [...new Set([...found.map(({ pid }) => pid), ...grouped])].filter((pid) => pid !== process.pid);
}

function withoutNeighbours(
  tree: Tree,
  own: readonly ProcessRow[],
  table: readonly ProcessRow[],
): readonly ProcessRow[] {
  const neighbours = tree.neighbours();
  if (neighbours.length === 0) return own;
  const theirs = new Set(
    neighbours.flatMap(({ leader }) => (leader === null ? [] : treeOf(leader, table).map(({ pid }) => pid))),
  );
  const ours = new Set(tree.leader === null ? [] : treeOf(tree.leader, table).map(({ pid }) => pid));
  return own.filter(({ pid }) => {
    if (ours.has(pid) || bears(pid, tree)) return true;
    return !theirs.has(pid) && !neighbours.some((neighbour) => bears(pid, neighbour));
  });
}

const bears = (pid: number, { mark }: Neighbour) => wasStartedWith(pid, `${markName}=${mark}`);

const roundsMax = 200;
/** By then it is clear that they start others more quickly than they are found. */
const sweepEveryRounds = 4;

/** At once and whole; processes that start others meanwhile are caught in the next round. */
export async function endTree(tree: Tree): Promise<void> {
  if (tree.leader !== null) signalGroup(tree.leader, 'SIGKILL');
  for (let round = 1; round <= roundsMax; round++) {
    const living = livingOf(tree);
    if (living.length === 0) return;
    for (const pid of living) signal(pid, 'SIGKILL');
    if (round % sweepEveryRounds === 0) await sweep(tree);
    await Bun.sleep(Math.min(5 + round, 50));
  }
  throw new Error(`Processes of ${tree.mark} do not end: ${livingOf(tree).join(', ')}.`);
}

/** Everything of a user in one act, by that user: nothing is started between looking and ending. */
async function sweep({ users, user, neighbours }: Tree): Promise<void> {
  if (!user || neighbours().length > 0) return;
  const [program = '', ...args] = [...users.prefix(user), '/bin/sh', '-c', 'kill -s KILL -- -1'];
  await runProgram(program, args, { cwd: '/' });
}

/** Asks all of them: also those that have left the group. */
export function askToEnd(tree: Tree): void {
  if (tree.leader !== null) signalGroup(tree.leader, 'SIGTERM');
  if (!tree.user) return;
  const table = new Map(readProcessTable().map((row) => [row.pid, row]));
  for (const pid of livingOf(tree)) if (table.get(pid)?.group !== tree.leader) signal(pid, 'SIGTERM');
}

export function signalGroup(leader: number, name: NodeJS.Signals): void {
  signal(process.platform === 'win32' ? leader : -leader, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended by itself; or on macOS, where a group of processes that wait to be noticed gives EPERM.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
