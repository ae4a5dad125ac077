import type { AppUser } from './app-users.ts';
import type { ControlGroup } from './control-groups.ts';
import { markName } from './environment.ts';
import { readProcessTable, userOf, wasStartedWith } from './process-table.ts';

/** By what the processes of an instance or a build are found. */
export interface Tree {
  /** The id that each of them was started with. */
  mark: string;
  user: AppUser | null;
  group: ControlGroup | null;
  /** The first of them, whose number is that of their group and session; null where it may be another's by now. */
  leader: number | null;
}

/**
 * Those that run, as far as it is certain that they are ours. A number alone says nothing, since it may have been
 * given to another: each bears the mark, is in our control group, or is in the leader's session as a user that only
 * this app has.
 */
export function livingOf(tree: Tree): number[] {
  const mark = `${markName}=${tree.mark}`;
  const found = readProcessTable().filter(({ pid, group, session }) => {
    const uid = userOf(pid);
    if (uid === null || uid !== (tree.user?.uid ?? process.getuid?.())) return false;
    const isNear = tree.leader !== null && (group === tree.leader || session === tree.leader);
    return (tree.user !== null && isNear) || wasStartedWith(pid, mark);
  });
  const grouped = tree.group?.pids() ?? [];
  return [...new Set([...found.map(({ pid }) => pid), ...grouped])].filter((pid) => pid !== process.pid);
}

const roundsMax = 200;

/** At once and whole; processes that start others meanwhile are caught in the next round. */
export async function endTree(tree: Tree): Promise<void> {
  if (tree.leader !== null) signalGroup(tree.leader, 'SIGKILL');
  for (let round = 0; round < roundsMax; round++) {
    const living = livingOf(tree);
    if (living.length === 0) return;
    for (const pid of living) signal(pid, 'SIGKILL');
    await Bun.sleep(Math.min(5 + round, 50));
  }
  throw new Error(`Processes of ${tree.mark} do not end: ${livingOf(tree).join(', ')}.`);
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
