import type { Db } from '../plumbing/db.ts';
import { listAppPeople } from './members-store.ts';

/** The representative owner and the co-owners; nobody of an app that is deleted. */
export async function ownerIdsOf(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<string[]> {
  const people = await listAppPeople(db, tenantId, appId);
  return people.filter(({ role }) => role !== 'member').map(({ user_id }) => user_id);
}
