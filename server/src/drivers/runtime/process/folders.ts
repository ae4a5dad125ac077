import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { projectRoot } from '../../../core/project-root.ts';
import { findLivingWriter, type Lock, tryLock } from '../../os/files.ts';
import { isRunning, type ProcessIdentity } from '../../os/processes.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroups } from './control-groups.ts';
import type { Isolation } from './isolation.ts';
import { endTree, type Neighbour } from './process-trees.ts';
import { type Box, writeSandboxFiles } from './sandbox.ts';
import { copyTree, type Measured, makeOwnFolder, measureFolders, removeTree } from './trees.ts';

export interface Layout {
  work: string;
  artifacts: string;
  run: string;
  homes: string;
  nodes: string;
  users: string;
  preload: string;
  sandbox: string;
}

export function makeLayout(dataDir: string): Layout {
  const top = join(dataDir, 'runtime');
  makeFolder(top, 0o711);
  for (const name of ['work', 'artifacts', 'run', 'homes']) makeFolder(join(top, name), 0o711);
  makeFolder(join(top, 'nodes'), 0o700);
  makeFolder(join(top, 'sandbox'), 0o711);
  writeSandboxFiles(join(top, 'sandbox'));
  writeAtomically(join(top, 'package.json'), emptyPackageJson);
  const preload = readFileSync(join(projectRoot, 'server/src/drivers/runtime/process/loopback.cjs'), 'utf8');
  writeAtomically(join(top, 'loopback.cjs'), preload);
  return {
    work: join(top, 'work'),
    artifacts: join(top, 'artifacts'),
    run: join(top, 'run'),
    homes: join(top, 'homes'),
    nodes: join(top, 'nodes'),
    users: join(top, 'users'),
    preload: join(top, 'loopback.cjs'),
    sandbox: join(top, 'sandbox'),
  };
}

function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
}

function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${crypto.randomUUID()}`;
  writeFileSync(temporary, text);
  chmodSync(temporary, 0o644);
  renameSync(temporary, path);
}

/** Node.js and npm look for a `package.json` in parent folders; this one keeps them inside the data dir. */
export const emptyPackageJson = '{}\n';

export function checkId(id: unknown): string {
  if (!isId(id)) throw new Error(`Not an ID: ${JSON.stringify(id)}.`);
  return id;
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}

interface ClaimedNodes {
  own: string;
  dead: readonly string[];
  forgetDead(): void;
  release(): void;
}

export function claimNode(folder: string): ClaimedNodes {
  const taken = readdirSync(folder).flatMap((name) => {
    if (!isId(name)) return [];
    const lock = tryLock(join(folder, name));
    return 'release' in lock ? [{ name, lock }] : [];
  });
  const [first, ...dead] = taken;
  const own = first ?? createNode(folder);
  return {
    own: own.name,
    dead: dead.map(({ name }) => name),
    forgetDead: () => {
      for (const { lock } of dead) lock.release();
    },
    release: () => {
      const empty = join(folder, `${own.name}.free`);
      writeFileSync(empty, '', { mode: 0o600 });
      renameSync(empty, join(folder, own.name));
    },
  };
}

/** The process that runs apps of this data dir. */
export function findRunningNode(dataDir: string): ProcessIdentity | null {
  const folder = join(dataDir, 'runtime', 'nodes');
  if (!existsSync(folder)) return null;
  const running = readdirSync(folder).flatMap((name) => findLivingWriter(join(folder, name)) ?? []);
  return running[0] ?? null;
}

function createNode(folder: string): { name: string; lock: Lock } {
  const name = crypto.randomUUID();
  const lock = tryLock(join(folder, name));
  if (!('release' in lock)) throw new Error(`${name} is already in use.`);
  return { name, lock };
}

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

interface RunFilesOptions {
  /** Of the instance or command. */
  folder: string;
  user: AppUser | null;
  /** The artifact, and its path and that of the app's folder in the sandbox. */
  tree: string;
  treeInside: string;
  dir: string;
}

/** Home, temporary folder and a private copy of the artifact: an overlay, or copied files where there is none. */
export function planRunFiles(
  { isolation: { sandbox, hasOverlay }, users }: { isolation: Isolation; users: AppUsers },
  { folder, user, tree, treeInside, dir }: RunFilesOptions,
) {
  const [home, tmp, copy] = [join(folder, 'home'), join(folder, 'tmp'), join(folder, 'changes')];
  const isOverlay = sandbox !== null && hasOverlay;
  const overlay = isOverlay ? ['upper', 'work', 'merged'].map((name) => join(copy, name)) : [];
  const written = [home, tmp, isOverlay ? join(copy, 'upper') : copy];
  let copiedBytes = 0;
  const mounted: Box['folders'][number] = isOverlay
    ? { path: tree, inside: treeInside, isWritable: false, changes: copy }
    : { path: copy, inside: treeInside, isWritable: true };

  return {
    home,
    tmp,
    /** In the sandbox. */
    mounted: [mounted, { path: home, isWritable: true }],
    dir: sandbox ? dir : join(copy, relative(treeInside, dir)),
    async create(): Promise<void> {
      for (const each of [home, tmp, copy, ...overlay]) await makeOwnFolder(each, user);
      if (isOverlay) return;
      try {
        await copyTree(tree, copy, { users, user });
      } catch (error) {
        // The disk may be full.
        await removeTree(copy);
        throw error;
      }
      copiedBytes = (await measureFolders([copy], Number.POSITIVE_INFINITY)).bytes;
    },
    async remove(): Promise<void> {
      for (const each of [home, tmp, copy]) await removeTree(each);
    },
    /** What was written since. */
    async measure(mbMax: number): Promise<Measured> {
      const measured = await measureFolders(written, mbMax + Math.ceil(copiedBytes / 1024 ** 2));
      return { ...measured, bytes: Math.max(0, measured.bytes - copiedBytes) };
    },
  };
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
