import type { Db } from '../plumbing/db.ts';
import { activeMembersAmong } from '../tenants/active-members.ts';
import { activeUsersAmong } from '../users/active-users.ts';
import { isForFormerMembers } from './rules.ts';
import type { NotificationRow } from './store.ts';

/** Those of them who may hear of it now: active members of the tenant, or, of their leaving it, whoever is active. */
export function readersAmong(
  db: Db,
  { tenant_id, kind }: Pick<NotificationRow, 'tenant_id' | 'kind'>,
  userIds: readonly string[],
): Promise<string[]> {
  return isForFormerMembers(kind)
    ? activeUsersAmong(db, userIds)
    : activeMembersAmong(db, tenant_id, userIds);
}
