import type { Remote } from '../drivers/git-client/git-client.ts';
import type { GitHost } from '../drivers/git-host/git-host.ts';
import type { Connection } from './connection-of.ts';

/** What the git client needs to reach a repository as the app of the git host, for an hour or so. */
export async function remoteOf(
  { gitHost }: { gitHost: GitHost },
  { repo, installationId }: Pick<Connection, 'repo' | 'installationId'> & Partial<Connection>,
): Promise<Remote> {
  const credentials = await gitHost.asInstallation(installationId, repo).credentials();
  return { url: gitHost.remoteUrl(repo), ...credentials };
}
