import type { GitHost, GitHostInstallation, RepoName, Repository } from '../drivers/git-host/git-host.ts';
import { Failure, fail } from '../plumbing/problem.ts';

export interface RepoWithNumber {
  repo: RepoName;
  repoId: number;
  installationId: number;
}

/**
 * The repository of this number, as the app of the git host, by its name of today. Null where it is gone, also where
 * another has its name now: whoever made that one is not who was trusted with the app.
 */
export async function findConnectedRepository(
  { gitHost }: { gitHost: GitHost },
  { repo, repoId, installationId }: RepoWithNumber,
): Promise<{ hands: GitHostInstallation; repository: Repository } | null> {
  const hands = gitHost.asInstallation(installationId, { id: repoId });
  const repository = await hands.repository(repo).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'not_found') return null;
    throw error;
  });
  return repository?.id === repoId ? { hands, repository } : null;
}

export async function connectedRepository(parts: { gitHost: GitHost }, wanted: RepoWithNumber) {
  const found = await findConnectedRepository(parts, wanted);
  if (found) return found;
  const name = `${wanted.repo.owner}/${wanted.repo.name}`;
  throw fail('not_found', {
    detail: `The repository ${name} that was connected is gone, or the platform may not read it any more. One that was made anew under its name is another: disconnect, and connect it.`,
  });
}
