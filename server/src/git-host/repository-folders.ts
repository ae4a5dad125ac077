import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '../plumbing/ref.ts';
import type { GitProcesses } from './git-processes.ts';

/** Where the repositories are: folders named by ids of ours, so that no name that people gave becomes a path. */
export interface RepositoryFolders {
  root: string;
  pathOf(folder: string): string;
  /** As the program that serves them is told of it. */
  create(folder: string): Promise<void>;
  /** One that is not there is no error. */
  remove(folder: string): Promise<void>;
  /** The ids of all that have been there since before then. */
  olderThan(before: Date): Promise<string[]>;
}

/** Of new repositories. */
const settings: readonly (readonly [string, string])[] = [
  ['receive.denyNonFastForwards', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['core.hooksPath', '/dev/null'],
  ['gc.auto', '2000'],
  ['gc.autoDetach', 'false'],
];

export function openRepositoryFolders(dataDir: string, git: GitProcesses): RepositoryFolders {
  const root = join(dataDir, 'git');

  function pathOf(folder: string): string {
    if (!isUuid(folder)) throw new Error('The folder of a repository has no proper name.');
    return join(root, nameOf(folder));
  }

  return {
    root,
    pathOf,
    async create(folder) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const path = pathOf(folder);
      const run = async (argv: readonly string[]) => {
        if ((await git.read(path, argv)) === null) throw new Error('A repository could not be made.');
      };
      await run(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path]);
      for (const [name, value] of settings) await run(['config', name, value]);
    },
    remove: (folder) => rm(pathOf(folder), { recursive: true, force: true, maxRetries: 3 }),
    async olderThan(before) {
      const names = await readdir(root).catch(() => []);
      const found: string[] = [];
      for (const name of names) {
        const folder = name.replace(/\.git$/, '');
        if (!isUuid(folder) || name !== nameOf(folder)) continue;
        const facts = await stat(join(root, name)).catch(() => null);
        if (facts && facts.birthtime < before && facts.mtime < before) found.push(folder);
      }
      return found;
    },
  };
}

/** The ending tells others what it is; the back-up leaves the locks of such folders out. */
export function nameOf(folder: string): string {
  return `${folder}.git`;
}
