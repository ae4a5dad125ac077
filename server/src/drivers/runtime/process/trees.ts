import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
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
import { join, relative, sep } from 'node:path';
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

export async function makeOwnFolder(folder: string, user: AppUser | null): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (user) await lchown(folder, user.uid, user.gid);
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
