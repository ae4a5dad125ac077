import type { Effect } from '../plumbing/outbox.ts';
import { createGitProcesses } from './git-processes.ts';
import { openRepositoryFolders } from './repository-folders.ts';

/** Queued when a repository goes. */
export const removeFolderTopic = 'gitHost.removeFolder';

export function removeFolder(dataDir: string): Effect {
  const folders = openRepositoryFolders(dataDir, createGitProcesses());
  return async ({ folder }) => folders.remove(String(folder));
}
