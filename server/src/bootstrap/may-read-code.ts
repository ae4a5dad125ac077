import { asGitUser } from '../git-connections/as-git-user.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { LinkedPerson } from '../git-connections/git-parts.ts';
import { Failure } from '../plumbing/problem.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { codeReach } from './code-reach.ts';
import type { Source } from './find-source.ts';

/** By what is known here, and where that does not tell, by what the git host shows to their account. */
export async function mayReadCode(
  parts: BootstrapParts,
  source: Source,
  reader: LinkedPerson,
): Promise<boolean> {
  const connection = await connectionOf(parts.db, { tenantId: source.tenant.id, appId: source.app.id });
  const reach = codeReach(source, connection, parts.gitHost);
  if (reach !== 'by_account' || !connection) return reach === 'open';
  return readsRepository(parts, reader, connection.repo);
}

/** Asked of the git host with the account of that person, as it stands now. */
export async function readsRepository(
  parts: BootstrapParts,
  who: LinkedPerson,
  repo: { owner: string; name: string },
): Promise<boolean> {
  try {
    return (await asGitUser(parts, who, (user) => user.repository(repo))) !== null;
  } catch (error) {
    // Without an account there they read nothing there.
    if (error instanceof Failure && error.code === 'git_account_required') return false;
    throw error;
  }
}
