import { Failure, fail } from '../../core/problem.ts';
import type { Remote } from '../../drivers/git/git-client.ts';
import {
  type GitHost,
  type GitHostInstallation,
  type Installation,
  type RepoName,
  type Repository,
  RepositoryError,
} from '../../drivers/git/git-host.ts';
import { type GitDeps, installationObstacle, isSameName, type TenantUser } from './rules.ts';
import { getUserToken, withGitUser } from './user-tokens.ts';

interface ConnectionRequest {
  repo: string;
  branch: string;
  installationId?: number | undefined;
  create?: 'create' | 'preview' | undefined;
}

export interface PreparedConnection {
  host: string;
  repository: Pick<Repository, 'id' | 'owner' | 'name' | 'isPrivate' | 'webUrl' | 'cloneUrl'>;
  installation: Pick<Installation, 'id'>;
  branch: string;
  isNew?: boolean;
}

/** The user's account must be able to push, and have access to the installation of the repository's owner. */
export async function prepareConnection(
  deps: GitDeps,
  user: TenantUser,
  { repo, branch, installationId, create }: ConnectionRequest,
): Promise<PreparedConnection> {
  const { gitHost } = deps;
  const [repository, userInstallations] = await withGitUser(deps, user, async (host) => [
    await host.repository(parseRepoName(repo)),
    await host.installations(),
  ]);
  if (!repository && create) {
    const installation = userInstallations.find(({ account }) =>
      isSameName(account.login, parseRepoName(repo).owner),
    );
    if (!installation) throw fail('installation_missing');
    if (installationId !== undefined && installationId !== installation.id)
      throw fail('installation_mismatch');
    const made =
      create === 'create'
        ? await createRepository(deps, user, { repo, installation })
        : plannedRepository(deps, repo);
    return { host: gitHost.webUrl, repository: made, installation, branch, isNew: true };
  }
  if (!repository?.canPush)
    throw fail('not_found', { detail: `${repo} does not exist, or your account cannot push to it.` });
  const { owner, name } = repository;
  const repoInstallation = await gitHost.installationOfRepo({ owner, name });
  const requested = installationId === undefined ? undefined : await gitHost.installation(installationId);
  const obstacle = installationObstacle({ owner, repoInstallation, requested, userInstallations });
  if (obstacle) throw fail(obstacle);
  if (!repoInstallation) throw fail('installation_missing');
  return { host: gitHost.webUrl, repository, installation: repoInstallation, branch };
}

function plannedRepository({ gitHost }: GitDeps, repo: string): PreparedConnection['repository'] {
  const webUrl = `${gitHost.webUrl}/${repo}`;
  return { id: 0, ...parseRepoName(repo), isPrivate: true, webUrl, cloneUrl: `${webUrl}.git` };
}

async function createRepository(
  deps: GitDeps,
  user: TenantUser,
  { repo, installation }: { repo: string; installation: Installation },
): Promise<Repository> {
  const { name } = parseRepoName(repo);
  try {
    return await deps.gitHost.asInstallation(installation.id).createRepository({
      owner: installation.account,
      name,
      isPrivate: true,
      description: '',
      userToken: await getUserToken(deps, user),
    });
  } catch (error) {
    if (!(error instanceof RepositoryError)) throw error;
    // `repo_exists`: the user cannot see the existing repository.
    throw fail(error.reason === 'repo_exists' ? 'repo_exists' : 'forbidden', { detail: error.message });
  }
}

export function parseRepoName(fullName: string): RepoName {
  const [owner = '', name = ''] = fullName.split('/');
  return { owner, name };
}

interface ConnectedRepoRef {
  repo: RepoName;
  repoId: number;
  installationId: number;
}

/** Null if the repository was deleted: the owner of another one with its name did not give the app access. */
export async function findConnectedRepository(
  { gitHost }: { gitHost: GitHost },
  { repo, repoId, installationId }: ConnectedRepoRef,
): Promise<{ client: GitHostInstallation; repository: Repository } | null> {
  const client = gitHost.asInstallation(installationId, { id: repoId });
  const repository = await client.repository(repo).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'not_found') return null;
    throw error;
  });
  return repository?.id === repoId ? { client, repository } : null;
}

export async function requireConnectedRepository(deps: { gitHost: GitHost }, ref: ConnectedRepoRef) {
  const found = await findConnectedRepository(deps, ref);
  if (found) return found;
  const name = `${ref.repo.owner}/${ref.repo.name}`;
  throw fail('not_found', {
    detail: `The connected repository ${name} was deleted, or the platform lost access to it. To use a new repository with the same name, disconnect and connect it.`,
  });
}

export async function openRemote(deps: { gitHost: GitHost }, ref: ConnectedRepoRef): Promise<Remote> {
  const { client, repository } = await requireConnectedRepository(deps, ref);
  return { url: deps.gitHost.remoteUrl(repository), ...(await client.credentials()) };
}
