import type { Installation, RepoName, Repository } from '../drivers/git-host/git-host.ts';
import { fail } from '../plumbing/problem.ts';
import { asGitUser } from './as-git-user.ts';
import type { GitParts, LinkedPerson } from './git-parts.ts';
import { installationObstacle } from './rules.ts';

export interface WantedConnection {
  /** `owner/name`. */
  repo: string;
  branch: string;
  installationId?: number | undefined;
}

/** What the git host said about it, for `connectRepository`. */
export interface PreparedConnection {
  host: string;
  repository: Repository;
  installation: Installation;
  branch: string;
}

/**
 * Whether the person may connect the repository, by what the git host says of their own account: they push to it, and
 * the installation is that of its owner and one that they reach. Changes nothing, here and there.
 */
export async function prepareConnection(
  parts: GitParts,
  who: LinkedPerson,
  { repo, branch, installationId }: WantedConnection,
): Promise<PreparedConnection> {
  const { gitHost } = parts;
  const [repository, own] = await asGitUser(parts, who, async (user) => [
    await user.repository(repoNameOf(repo)),
    await user.installations(),
  ]);
  if (!repository?.canPush)
    throw fail('not_found', { detail: `${repo} is not there, or your account may not push to it.` });
  // Its name of today: it may have been asked for by an older one.
  const { owner, name } = repository;
  const ofRepo = await gitHost.installationOfRepo({ owner, name });
  const given = installationId === undefined ? undefined : await gitHost.installation(installationId);
  const obstacle = installationObstacle({ owner, ofRepo, given, own });
  if (obstacle) throw fail(obstacle);
  if (!ofRepo) throw fail('installation_missing');
  return { host: gitHost.webUrl, repository, installation: ofRepo, branch };
}

export function repoNameOf(fullName: string): RepoName {
  const [owner = '', name = ''] = fullName.split('/');
  return { owner, name };
}
