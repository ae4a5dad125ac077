import type { GitParts, LinkedPerson } from './git-parts.ts';
import { findLinkRow } from './link-store.ts';

/** Whether a person has an account at the git host, as far as it is known here: nobody is asked, nothing is renewed. */
export async function hasAccount(
  { db, gitHost, now }: Pick<GitParts, 'db' | 'gitHost' | 'now'>,
  who: LinkedPerson,
): Promise<boolean> {
  if (gitHost.isBuiltIn) return true;
  const row = await findLinkRow(db, who, gitHost.webUrl);
  if (!row) return false;
  const lasts = (until: Date | null) => until === null || until > now();
  return lasts(row.token_expires_at) || (row.refresh_sealed !== null && lasts(row.refresh_expires_at));
}
