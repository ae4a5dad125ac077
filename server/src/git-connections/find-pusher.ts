import type { GitHost } from '../drivers/git-host/git-host.ts';
import { userOfAccount } from '../git-host/user-of-account.ts';
import type { Db } from '../plumbing/db.ts';
import { findMember } from '../tenants/find-member.ts';
import { listUserIdsOfAccount } from './link-store.ts';

/** Which member of the tenant an account at the git host is that of; null: of none, or not for certain. */
export async function findPusher(
  db: Db,
  { isBuiltIn, webUrl: host }: Pick<GitHost, 'isBuiltIn' | 'webUrl'>,
  { tenantId, accountId }: { tenantId: string; accountId: number | null },
): Promise<string | null> {
  if (accountId === null) return null;
  const found = isBuiltIn
    ? await userOfAccount(db, accountId)
    : await listUserIdsOfAccount(db, tenantId, { host, accountId });
  const [only, another] = found;
  if (only === undefined || another !== undefined) return null;
  return (await findMember(db, tenantId, only))?.userId ?? null;
}
