import type { GitHost } from '../drivers/git-host/git-host.ts';
import { issueUserToken } from '../git-host/issue-user-token.ts';
import type { GitParts } from './git-parts.ts';

const keptMax = 1_000;
const leftMsMin = 600_000;

type Kept = Map<string, { token: string; until: number }>;
const keptBy = new WeakMap<GitHost, Kept>();

/** At the built-in host everybody has their account already: the platform acts there for who asks it to. */
export async function ownTokenOf(
  { db, gitHost, now }: Pick<GitParts, 'db' | 'gitHost' | 'now'>,
  { userId, refused }: { userId: string; refused?: string | undefined },
): Promise<string> {
  const kept = keptBy.get(gitHost) ?? new Map();
  keptBy.set(gitHost, kept);
  const found = kept.get(userId);
  const at = now();
  if (found && found.until > at.getTime() && found.token !== refused) return found.token;
  const { token, expiresAt } = await issueUserToken(db, { userId, now: at });
  const oldest = kept.size >= keptMax ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  kept.set(userId, { token, until: (expiresAt?.getTime() ?? 0) - leftMsMin });
  return token;
}
