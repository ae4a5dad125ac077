import { chmod, mkdir, rm } from 'node:fs/promises';
import { runProgram } from '../os/processes.ts';
import { connectGitHelper, removeByHelper } from './git-helper.ts';
import { type GitChild, type GitCommand, startGit } from './start-git.ts';

export interface GitLauncher {
  start(command: GitCommand): GitChild;
  /** Whether git cannot read or write the files of this process. */
  isOtherUser: boolean;
  makeFolder(path: string): Promise<void>;
  /** For a folder that this process has made. */
  share(path: string): Promise<void>;
  /** With the files that git has closed to others. */
  remove(path: string): Promise<void>;
}

/** Git has the user of this process. */
export function createLocalLauncher(): GitLauncher {
  return {
    start: startGit,
    isOtherUser: false,
    async makeFolder(path) {
      await mkdir(path, { recursive: true, mode: 0o700 });
    },
    share: async () => {},
    remove: removeFolder,
  };
}

/**
 * Git has a user of its own (decision 146). This process is in the group of that user, to which its folders pass on their
 * group.
 */
export function createHelperLauncher(socketPath: () => Promise<string>): GitLauncher {
  const share = (path: string) => chmod(path, sharedMode);
  return {
    start: (command) => connectGitHelper(socketPath, command),
    isOtherUser: true,
    async makeFolder(path) {
      await mkdir(path, { recursive: true });
      await share(path);
    },
    share,
    async remove(path) {
      await removeFolder(path).catch(async () => {
        await removeByHelper(await socketPath(), path);
        await removeFolder(path);
      });
    },
  };
}

export const sharedMode = 0o2770;
/** With `sharedMode` above them, files are open to the two users alone. */
export const gitUmask = 0o002;
export const gitSocketVariable = 'SVC_GIT_SOCKET';
/** In the data dir. */
export const gitFolderNames = { repositories: 'git', work: 'git-work' } as const;

const removeFolder = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });

/** Between folders of this process and of git. */
export async function copyFiles(from: string, to: string): Promise<void> {
  const { status, output } = await runProgram('cp', ['-RP', `${from}/.`, `${to}/`], { cwd: '/' });
  if (status !== 0) throw new Error(`cp failed: ${output.slice(0, 500)}`);
}

export async function openToGroup(path: string): Promise<void> {
  const { status, output } = await runProgram('chmod', ['-R', 'g+rX', '--', path], { cwd: '/' });
  if (status !== 0) throw new Error(`chmod failed: ${output.slice(0, 500)}`);
}
