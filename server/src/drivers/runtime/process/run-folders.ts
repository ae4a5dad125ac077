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
import { isRunning, type ProcessIdentity } from '../../os/processes.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroups } from './control-groups.ts';
import { isId } from './layout.ts';
import { endTree, type Neighbour } from './process-trees.ts';
import { removeTree } from './trees.ts';

interface ProcessRecord extends ProcessIdentity {
  node: string;
  uid: number | null;
  gid: number | null;
}

interface RunOwner {
  node: string;
  user: AppUser | null;
}

export function makeRunFolder(folder: string, owner: RunOwner): void {
  mkdirSync(folder, { mode: 0o711 });
  writeProcessFile(folder, { ...owner, identity: { pid: 0, started: '' } });
}

export function writeProcessFile(
  folder: string,
  { identity, node, user }: RunOwner & { identity: ProcessIdentity },
): void {
  const record: ProcessRecord = { ...identity, node, uid: user?.uid ?? null, gid: user?.gid ?? null };
  const temporary = join(folder, 'pid.new');
  writeFileSync(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(temporary, join(folder, 'pid'));
}

const unownedMsMin = 600_000;

export async function endRemains(
  runFolder: string,
  { nodes, groups, users }: { nodes: readonly string[]; groups: ControlGroups; users: AppUsers },
): Promise<number> {
  let ended = 0;
  for (const mark of readdirSync(runFolder).filter(isId)) {
    const folder = join(runFolder, mark);
    const record = readProcessRecord(folder);
    if (!record) {
      if (Date.now() - statSync(folder).mtimeMs > unownedMsMin) await removeTree(folder);
      continue;
    }
    if (!nodes.includes(record.node)) continue;
    const group = groups.find(record.node, mark);
    const user = recordUser(record);
    const neighbours = () => listNeighbours(runFolder, { mark, user });
    const leader = isRunning(record) ? record.pid : null;
    await endTree({ mark, users, user, group, leader, neighbours });
    await group?.remove();
    await removeTree(folder);
    ended += 1;
  }
  for (const node of nodes) await groups.removeNode(node);
  return ended;
}

export function listNeighbours(
  runFolder: string,
  { mark, user }: { mark: string; user: AppUser | null },
): Neighbour[] {
  if (!user) return [];
  return readdirSync(runFolder).flatMap((name): Neighbour[] => {
    if (!isId(name) || name === mark) return [];
    const record = readProcessRecord(join(runFolder, name));
    return record?.uid === user.uid ? [{ mark: name, leader: isRunning(record) ? record.pid : null }] : [];
  });
}

const recordBytesMax = 4096;

/** Accepts only a file that the server has written, not one that an app has put there. */
function readProcessRecord(folder: string): ProcessRecord | null {
  const path = join(folder, 'pid');
  try {
    const found = lstatSync(path);
    if (!found.isFile() || found.size > recordBytesMax || found.uid !== (process.getuid?.() ?? found.uid))
      return null;
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isProcessRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function recordUser({ uid, gid }: ProcessRecord): AppUser | null {
  return uid === null || process.getuid?.() !== 0 ? null : { uid, gid: gid ?? uid };
}

function isProcessRecord(value: unknown): value is ProcessRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, started, node, uid } = value as Record<string, unknown>;
  const isUid = uid === null || typeof uid === 'number';
  return typeof pid === 'number' && typeof started === 'string' && typeof node === 'string' && isUid;
}
