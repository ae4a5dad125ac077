import type { Remote } from '../drivers/git-client/git-client.ts';
import type { GitHost } from '../drivers/git-host/git-host.ts';
import { connectedRepository, type RepoWithNumber } from './connected-repository.ts';

/** What the git client needs to reach a repository as the app of the git host, for an hour or so: this one alone. */
export async function remoteOf(parts: { gitHost: GitHost }, wanted: RepoWithNumber): Promise<Remote> {
  const { hands, repository } = await connectedRepository(parts, wanted);
  return { url: parts.gitHost.remoteUrl(repository), ...(await hands.credentials()) };
}
