import { chmod, cp, lchown, lstat, mkdir, readlink, realpath, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { runProgram } from '../../database/run-program.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import { walkTree } from './walk-tree.ts';

/**
 * Root goes through no tree that an app can write: a file that becomes a link meanwhile would lead it elsewhere. What is
 * changed within such a tree, the app's own user changes.
 */
export type TreeOwner = { users: AppUsers; user: AppUser | null };

/** A tree that nobody of the app has been able to enter yet is the app's from now on. */
export async function giveTree(tree: string, { users, user }: TreeOwner): Promise<void> {
  await chmod(tree, 0o700);
  if (!user) return;
  // From below: the top, by which it is entered, is given last.
  await run('chown', ['-RhP', `${user.uid}:${user.gid}`, '--', tree]);
  await runAs({ users, user }, 'chmod', ['-R', 'u+rwX', '--', tree]);
}

/** Once it is built, and nothing of the build runs: `readers`, a group, may read it, and nobody may change it. */
export async function takeTree(tree: string, owner: TreeOwner, readers: number | null): Promise<void> {
  if (!owner.user) return;
  await runAs(owner, 'chmod', ['-R', 'u+rwX,go+rX,go-w,u-s,g-s', '--', tree]);
  // What is below stays the builds’ own: whom the top does not let in can do nothing with that.
  await lchown(tree, 0, readers ?? 0);
  await chmod(tree, readers === null ? 0o700 : 0o750);
}

/** In a folder that is the server's alone. */
export async function makeOwnFolder(folder: string, user: AppUser | null): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (user) await lchown(folder, user.uid, user.gid);
}

/** Never led astray by links, since each folder is opened as one, and from the folder above it. */
export async function removeTree(tree: string): Promise<void> {
  try {
    await rm(tree, { recursive: true, force: true });
  } catch (error) {
    if (process.getuid?.() === 0) throw error;
    // Folders that an app has closed to its own user, which here is ours.
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

/** The folder that a path below the tree really is; null: none, or outside. */
export async function folderWithin(tree: string, below: string): Promise<string | null> {
  try {
    const [top, found] = [await realpath(tree), await realpath(join(tree, below))];
    const isWithin = found === top || found.startsWith(top + sep);
    return isWithin && (await lstat(found)).isDirectory() ? found : null;
  } catch {
    return null;
  }
}

/** The first path below the folder that is neither file nor folder, nor a link to one within the tree; null: none. */
export async function strangeEntry(folder: string, tree: string): Promise<string | null> {
  const top = await realpath(tree);
  for await (const { path, entry } of walkTree(folder)) {
    if (entry.isFile() || entry.isDirectory()) continue;
    const shown = path.slice(folder.length + 1);
    if (!entry.isSymbolicLink()) return `${shown} is neither a file nor a folder`;
    const target = await realpath(path).catch(() => null);
    if (target === null || !(target === top || target.startsWith(top + sep)))
      return `${shown} leads to ${await readlink(path)}, outside of the source`;
  }
  return null;
}

function runAs({ users, user }: TreeOwner, program: string, args: string[]): Promise<void> {
  const [first = '', ...rest] = [...users.prefix(user), program, ...args];
  return run(first, rest);
}

async function run(program: string, args: string[]): Promise<void> {
  const { status, said } = await runProgram(program, args, { cwd: '/' });
  if (status !== 0) throw new Error(`${program} failed: ${said.slice(0, 500)}`);
}
