import { createHash } from 'node:crypto';
import { constants, type Dirent, type Stats } from 'node:fs';
import {
  chmod,
  cp,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { runProgram } from '../../os/processes.ts';
import type { AppUser, AppUsers } from './app-users.ts';

/** Root never walks a tree that an app can write, because the app could replace a file by a link meanwhile. */
type TreeOwner = { users: AppUsers; user: AppUser | null };

export async function giveTreeToUser(tree: string, { users, user }: TreeOwner): Promise<void> {
  await chmod(tree, 0o700);
  if (!user) return;
  // Bottom-up: the top folder, which grants access, comes last.
  await run('chown', ['-RhP', `${user.uid}:${user.gid}`, '--', tree]);
  await chmodAs({ users, user }, 'u+rwX', tree);
}

/** The group `readers` can enter the tree then. With `isCopied` it may write, because instances change a copy of it. */
export async function takeTreeBack(
  tree: string,
  owner: TreeOwner,
  { readers, isCopied }: { readers: number | null; isCopied: boolean },
): Promise<void> {
  if (!owner.user) return;
  await chmodAs(owner, 'u+rwX,go+rX,go-w,u-s,g-s', tree);
  // The content is owned by the build's user, who can no longer enter the top folder.
  await lchown(tree, 0, 0);
  await chmod(tree, 0o700);
  if (readers === null) return;
  if (isCopied) {
    await run('chown', ['-RhP', `0:${readers}`, '--', tree]);
    await run('chmod', ['-R', 'g+w', '--', tree]);
  }
  await lchown(tree, 0, readers);
  await chmod(tree, 0o750);
}

/** A restored tree is owned by root, without its readers: owners are not in a back-up. */
export async function restoreReaders(
  tree: string,
  { readers, isCopied }: { readers: number; isCopied: boolean },
): Promise<void> {
  const { uid, gid } = await lstat(tree);
  if (uid !== 0 || gid === readers) return;
  await run('chmod', ['-R', isCopied ? 'g+rwX' : 'g+rX', '--', tree]);
  await chmod(tree, 0o750);
  // Bottom-up: several servers may do it at once, and none starts the app before the last step.
  await run('chown', ['-RhP', `0:${readers}`, '--', tree]);
}

export async function makeOwnFolder(folder: string, user: AppUser | null): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (user) await lchown(folder, user.uid, user.gid);
}

/** Copied as the user, who may be unable to enter the folders above, and whose processes may write into the copy already. */
export async function copyTree(tree: string, into: string, { users, user }: TreeOwner): Promise<void> {
  if (process.platform !== 'linux')
    return cp(tree, into, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  const copy = ['cp', '-a', '--reflink=auto', '--', '/proc/self/fd/3/.', '.'];
  const script = 'exec 3<"$1" && shift && exec "$@"';
  const prefix = user ? users.prefix(user) : [];
  await run('/bin/sh', ['-c', script, 'svc-copy', tree, ...prefix, ...copy], into);
}

export async function removeTree(tree: string): Promise<void> {
  try {
    await rm(tree, { recursive: true, force: true });
  } catch (error) {
    if (process.getuid?.() === 0) throw error;
    // The app, which runs as the server's user, may have removed permissions of folders.
    await runProgram('chmod', ['-R', 'u+rwX', '--', tree], {});
    await rm(tree, { recursive: true, force: true });
  }
}

export async function moveTree(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
    await removeTree(from);
  }
}

interface TakenFolder {
  path: string;
  giveBack(): Promise<void>;
}

/**
 * Moves a folder of another user to where only this user can replace it. Its parents are opened once, because the other
 * user may replace them by links at any time.
 */
export async function takeFolder(
  folder: string,
  { below, into, owner }: { below: string; into: string; owner: AppUser },
): Promise<TakenFolder> {
  const [name, parentPath] = [basename(resolve(folder)), await realpath(dirname(resolve(folder)))];
  const parent = await open(parentPath, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const path = join(into, crypto.randomUUID());
  try {
    const opened = `/proc/self/fd/${parent.fd}`;
    const [found, top] = [await readlink(opened), await realpath(below)];
    if (found !== top && !found.startsWith(top + sep)) throw new Error(`${folder} is not below ${below}.`);
    await rename(join(opened, name), path);
    if (!(await lstat(path)).isDirectory()) throw new Error(`${folder} is not a folder.`);
    return {
      path,
      async giveBack() {
        try {
          await run('chown', ['-RhP', `${owner.uid}:${owner.gid}`, '--', path]);
          await rename(path, join(opened, name));
        } finally {
          await removeTree(path);
          await parent.close();
        }
      },
    };
  } catch (error) {
    await removeTree(path);
    await parent.close();
    throw error;
  }
}

export async function resolveFolder(tree: string, below: string): Promise<string | null> {
  try {
    const [top, found] = [await realpath(tree), await realpath(join(tree, below))];
    const isWithin = found === top || found.startsWith(top + sep);
    return isWithin && (await lstat(found)).isDirectory() ? found : null;
  } catch {
    return null;
  }
}

export async function findForeignEntry(folder: string, tree: string): Promise<string | null> {
  const top = await realpath(tree);
  for await (const { path, entry } of walkTree(folder)) {
    if (entry.isFile() || entry.isDirectory()) continue;
    const shown = path.slice(folder.length + 1);
    if (!entry.isSymbolicLink()) return `${shown} is neither a file nor a folder`;
    const target = await realpath(path).catch(() => null);
    if (target === null || !(target === top || target.startsWith(top + sep)))
      return `${shown} is a link to ${await readlink(path)}, outside of the source`;
  }
  return null;
}

/** Enters the tree as root and then drops the rights: the data dir may be below a folder that only root can enter. */
function chmodAs({ users, user }: TreeOwner, mode: string, tree: string): Promise<void> {
  const [program = '', ...args] = [...users.prefix(user), 'chmod', '-R', mode, '--', '.'];
  return run(program, args, tree);
}

async function run(program: string, args: string[], cwd = '/'): Promise<void> {
  const { status, output } = await runProgram(program, args, { cwd });
  if (status !== 0) throw new Error(`${program} failed: ${output.slice(0, 500)}`);
}

export async function* walkTree(folder: string): AsyncGenerator<{ path: string; entry: Dirent }> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    yield { path, entry };
    if (entry.isDirectory()) yield* walkTree(path);
  }
}

export interface Measured {
  bytes: number;
  /** Why this is too much, whatever the bytes. */
  problem?: string;
}

const mb = 1024 * 1024;
/** As many as file systems usually have for this space, and enough for the packages of a large app. */
const entriesPerMb = 64;
const entriesMin = 100_000;

/**
 * Up to a little more than the limit. Entries that vanish meanwhile count nothing. Names are bytes, because not all of them
 * are text.
 */
export async function measureFolders(
  folders: readonly string[],
  mbMax: number,
  entriesMax = Math.max(entriesMin, mbMax * entriesPerMb),
): Promise<Measured> {
  let bytes = 0;
  let entries = 0;
  const left = folders.map((folder) => Buffer.from(folder));
  try {
    for (let folder = left.pop(); folder !== undefined; folder = left.pop())
      for (const name of (await unlessGone(readdir(folder, { encoding: 'buffer' }))) ?? []) {
        const path = Buffer.concat([folder, slash, name]);
        const found = await unlessGone(lstat(path));
        if (found?.isDirectory()) left.push(path);
        bytes += bytesOnDisk(found);
        entries += 1;
        if (bytes > mbMax * mb) return { bytes };
        if (entries > entriesMax) return { bytes, problem: `has more than ${entriesMax} files` };
      }
    return { bytes };
  } catch (error) {
    return { bytes, problem: `has files that cannot be measured (${(error as NodeJS.ErrnoException).code})` };
  }
}

const slash = Buffer.from('/');
export const bytesOnDisk = (found: Stats | null) => (found?.blocks ?? 0) * 512;

async function unlessGone<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

const parallelMax = 16;
const chunkBytes = 256 * 1024;

export async function digestTree(tree: string): Promise<string> {
  const paths: string[] = [];
  for await (const { path } of walkTree(tree)) paths.push(relative(tree, path));
  paths.sort();
  const sum = createHash('sha256');
  for (let from = 0; from < paths.length; from += parallelMax) {
    const some = paths.slice(from, from + parallelMax);
    const lines = await Promise.all(some.map((path) => describeEntry(tree, path)));
    for (const line of lines) sum.update(line);
    await new Promise(setImmediate);
  }
  return `sha256:${sum.digest('hex')}`;
}

/** Fields end with NUL, which paths cannot contain, so that different trees have different texts. */
async function describeEntry(tree: string, path: string): Promise<string> {
  const at = join(tree, path);
  const found = await lstat(at);
  if (found.isSymbolicLink()) return `link\0${path}\0${await readlink(at)}\0`;
  if (!found.isFile()) return `${found.isDirectory() ? 'folder' : 'other'}\0${path}\0`;
  const kind = found.mode & 0o100 ? 'program' : 'file';
  return `${kind}\0${path}\0${await hashFile(at, found.size)}\0`;
}

async function hashFile(path: string, bytes: number): Promise<string> {
  const sum = createHash('sha256');
  if (bytes <= chunkBytes) return sum.update(await Bun.file(path).bytes()).digest('hex');
  const file = await open(path);
  try {
    const piece = Buffer.alloc(chunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, chunkBytes);
      if (bytesRead === 0) return sum.digest('hex');
      sum.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
