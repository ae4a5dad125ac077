import { chmod, cp, lstat, mkdir, readlink, realpath, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { runProgram } from '../../database/run-program.ts';
import type { AppUser } from './app-users.ts';
import { walkTree } from './walk-tree.ts';

/** While it is built, the tree is the app's. */
export async function giveTree(tree: string, user: AppUser | null): Promise<void> {
  if (user) {
    await run('chown', ['-RhP', `${user.uid}:${user.gid}`, '--', tree]);
    await run('chmod', ['-R', 'u+rwX', '--', tree]);
  }
  await chmod(tree, 0o700);
}

/** Once it is built, the app may read it and change nothing, and nobody else may do either. */
export async function takeTree(tree: string, user: AppUser | null): Promise<void> {
  if (!user) return;
  await run('chown', ['-RhP', `0:${user.gid}`, '--', tree]);
  await run('chmod', ['-R', 'u+rwX,g+rX,g-w,o-rwx,u-s,g-s', '--', tree]);
}

export async function makeOwnFolder(folder: string, user: AppUser | null): Promise<void> {
  await mkdir(folder, { recursive: true });
  await giveTree(folder, user);
}

export async function removeTree(tree: string): Promise<void> {
  try {
    await rm(tree, { recursive: true, force: true });
  } catch {
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

async function run(program: string, args: string[]): Promise<void> {
  const { status, said } = await runProgram(program, args, {});
  if (status !== 0) throw new Error(`${program} failed: ${said.slice(0, 500)}`);
}
