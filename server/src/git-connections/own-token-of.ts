import { issueUserToken } from '../git-host/issue-user-token.ts';
import type { GitParts } from './git-parts.ts';

/** At the built-in host everybody has their account already: the platform acts there for who asks it to. */
export async function ownTokenOf(
  { db, now }: Pick<GitParts, 'db' | 'now'>,
  { userId }: { userId: string },
): Promise<string> {
  return (await issueUserToken(db, { userId, now: now() })).token;
}
