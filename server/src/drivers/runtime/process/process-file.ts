import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type ProcessIdentity, stillRuns } from '../../database/process-identity.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroups } from './control-groups.ts';
import { endTree, type Neighbour } from './end-tree.ts';
import { isId } from './layout.ts';
import { removeTree } from './trees.ts';

interface Kept extends ProcessIdentity {
  node: string;
  uid: number | null;
  gid: number | null;
}

interface Owner {
  node: string;
  user: AppUser | null;
}

/** Holds what an instance or a build may write, and beside it whose it is: that stands there before anything runs. */
export function makeRunFolder(folder: string, owner: Owner): void {
  mkdirSync(folder, { mode: 0o711 });
  keepProcess(folder, { ...owner, identity: { pid: 0, started: '' } });
}

/** Written beside what an instance or a build may write, so that a killed server's processes are found. */
export function keepProcess(
  folder: string,
  { identity, node, user }: Owner & { identity: ProcessIdentity },
): void {
  const kept: Kept = { ...identity, node, uid: user?.uid ?? null, gid: user?.gid ?? null };
  const beside = join(folder, 'pid.new');
  writeFileSync(beside, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  renameSync(beside, join(folder, 'pid'));
}

/** Made by a copy that ended before it had written whose it is. */
const unownedMsMin = 600_000;

/** Ends what copies that have died left running, and removes what it could write. */
export async function clearRemains(
  runFolder: string,
  { nodes, groups, users }: { nodes: readonly string[]; groups: ControlGroups; users: AppUsers },
): Promise<number> {
  let ended = 0;
  for (const mark of readdirSync(runFolder).filter(isId)) {
    const folder = join(runFolder, mark);
    const kept = readKept(folder);
    if (!kept) {
      if (Date.now() - statSync(folder).mtimeMs > unownedMsMin) await removeTree(folder);
      continue;
    }
    if (!nodes.includes(kept.node)) continue;
    const group = groups.find(kept.node, mark);
    const user = userOfKept(kept);
    const neighbours = () => neighboursOf(runFolder, { mark, user });
    // The number may be another's by now; then only the user, the mark and the control group tell.
    const leader = stillRuns(kept) ? kept.pid : null;
    await endTree({ mark, users, user, group, leader, neighbours });
    await group?.remove();
    await removeTree(folder);
    ended += 1;
  }
  for (const node of nodes) await groups.removeNode(node);
  return ended;
}

/** Others that live as the same user: builds of one app, where a copy of the server that was silent is back. */
export function neighboursOf(
  runFolder: string,
  { mark, user }: { mark: string; user: AppUser | null },
): Neighbour[] {
  if (!user) return [];
  return readdirSync(runFolder).flatMap((name): Neighbour[] => {
    if (!isId(name) || name === mark) return [];
    const kept = readKept(join(runFolder, name));
    return kept?.uid === user.uid ? [{ mark: name, leader: stillRuns(kept) ? kept.pid : null }] : [];
  });
}

const keptBytesMax = 4096;

/** Only what the server itself has written: never something that an app has put in its place. */
function readKept(folder: string): Kept | null {
  const path = join(folder, 'pid');
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.size > keptBytesMax || found.uid !== (process.getuid?.() ?? found.uid))
      return null;
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isKept(value) ? value : null;
  } catch {
    return null;
  }
}

function userOfKept({ uid, gid }: Kept): AppUser | null {
  return uid === null || process.getuid?.() !== 0 ? null : { uid, gid: gid ?? uid };
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, started, node, uid } = value as Record<string, unknown>;
  const isUid = uid === null || typeof uid === 'number';
  return typeof pid === 'number' && typeof started === 'string' && typeof node === 'string' && isUid;
}
