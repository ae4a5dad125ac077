import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProcessIdentity, stillRuns } from '../../database/process-identity.ts';
import type { AppUser } from './app-users.ts';
import type { ControlGroups } from './control-groups.ts';
import { endTree } from './end-tree.ts';
import { checkedId } from './layout.ts';
import { removeTree } from './trees.ts';

interface Kept extends ProcessIdentity {
  node: string;
  uid: number | null;
}

/** Written beside what an instance or a build may write, so that a killed server's processes are found. */
export function keepProcess(
  folder: string,
  { identity, node, user }: { identity: ProcessIdentity; node: string; user: AppUser | null },
): void {
  const kept: Kept = { ...identity, node, uid: user?.uid ?? null };
  const beside = join(folder, 'pid.new');
  writeFileSync(beside, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  renameSync(beside, join(folder, 'pid'));
}

/** Ends what copies that have died left running, and removes what it could write. */
export async function clearRemains(
  runFolder: string,
  { nodes, groups }: { nodes: readonly string[]; groups: ControlGroups },
): Promise<number> {
  let ended = 0;
  for (const name of readdirSync(runFolder)) {
    const kept = readKept(join(runFolder, name, 'pid'));
    if (!kept || !nodes.includes(kept.node)) continue;
    const mark = checkedId(name);
    const group = groups.find(kept.node, mark);
    const user = kept.uid === null ? null : { uid: kept.uid, gid: kept.uid };
    // The number may be another's by now; then only the mark and the control group tell.
    await endTree({ mark, user, group, leader: stillRuns(kept) ? kept.pid : null });
    await group?.remove();
    await removeTree(join(runFolder, name));
    ended += 1;
  }
  for (const node of nodes) await groups.removeNode(node);
  return ended;
}

function readKept(path: string): Kept | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isKept(value) ? value : null;
  } catch {
    return null;
  }
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, started, node, uid } = value as Record<string, unknown>;
  const isUid = uid === null || typeof uid === 'number';
  return typeof pid === 'number' && typeof started === 'string' && typeof node === 'string' && isUid;
}
