import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { isUuid } from '../../core/values.ts';
import { createGitProcesses, type GitProcesses } from './git-processes.ts';

/** Bare repositories on disk. Folders are named by id, so that no user-chosen name becomes a path. */
export type RepositoryFolders = ReturnType<typeof openRepositoryFolders>;

const settings: readonly (readonly [string, string])[] = [
  ['receive.denyNonFastForwards', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['core.hooksPath', '/dev/null'],
  ['gc.auto', '2000'],
  ['gc.autoDetach', 'false'],
];

export function openRepositoryFolders(dataDir: string, git: GitProcesses) {
  const root = join(dataDir, 'git');

  function folderPath(folder: string): string {
    if (!isUuid(folder)) throw new Error(`Invalid repository folder: ${folder}`);
    return join(root, repositoryFolderName(folder));
  }

  return {
    root,
    path: folderPath,
    async create(folder: string): Promise<void> {
      const path = folderPath(folder);
      await mkdir(path, { recursive: true, mode: 0o700 });
      const run = async (argv: readonly string[]) => {
        if ((await git.read(path, argv)) === null) throw new Error(`git ${argv[0]} failed.`);
      };
      await run(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path]);
      for (const [name, value] of settings) await run(['config', name, value]);
    },
    remove: (folder: string) => rm(folderPath(folder), { recursive: true, force: true, maxRetries: 3 }),
    async listOlderThan(before: Date): Promise<string[]> {
      const names = await readdir(root).catch(() => []);
      const found: string[] = [];
      for (const name of names) {
        const folder = name.replace(/\.git$/, '');
        if (!isUuid(folder) || name !== repositoryFolderName(folder)) continue;
        const facts = await stat(join(root, name)).catch(() => null);
        if (facts && facts.birthtime < before && facts.mtime < before) found.push(folder);
      }
      return found;
    },
  };
}

/** The backup recognizes repositories by this suffix and leaves out their lock files. */
export function repositoryFolderName(folder: string): string {
  return `${folder}.git`;
}

export const removeFolderTopic = 'gitHost.removeFolder';

export function removeRepositoryFolder(dataDir: string): EffectHandler {
  const folders = openRepositoryFolders(dataDir, createGitProcesses());
  return async ({ folder }) => folders.remove(String(folder));
}
