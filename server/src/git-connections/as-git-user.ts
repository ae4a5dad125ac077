import { type GitHostUser, UserTokenRefused } from '../drivers/git-host/git-host.ts';
import type { GitParts, LinkedPerson } from './git-parts.ts';
import { accountRequired, userTokenOf } from './user-token-of.ts';

/** Asks the git host as the person. A token that it does not take any more is renewed once. */
export async function asGitUser<T>(
  parts: Pick<GitParts, 'db' | 'gitHost' | 'now'>,
  who: LinkedPerson,
  ask: (user: GitHostUser) => Promise<T>,
): Promise<T> {
  const token = await userTokenOf(parts, who);
  try {
    return await ask(parts.gitHost.asUser(token));
  } catch (error) {
    if (!(error instanceof UserTokenRefused)) throw error;
  }
  const renewed = await userTokenOf(parts, who, { refused: token });
  return ask(parts.gitHost.asUser(renewed)).catch((error: unknown) => {
    throw error instanceof UserTokenRefused ? accountRequired() : error;
  });
}
