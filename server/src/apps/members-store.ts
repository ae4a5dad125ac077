import type { appRoles } from '@svc/contract/owners.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { AppRow, CoOwnerRow } from './store.ts';

/** Invited, by whom and since when: the same columns as of a co-owner. */
export type AppMemberRow = CoOwnerRow;
type Tables = {
  apps: Pick<AppRow, 'id' | 'tenant_id' | 'slug' | 'owner_id' | 'owner_since' | 'updated_at'>;
  app_members: AppMemberRow;
};

/** Of an app of the tenant, in the order in which they were added. */
export function listAppMemberRows(db: Db, tenantId: string, appId: string): Promise<AppMemberRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_members')
    .innerJoin('apps', 'apps.id', 'app_members.app_id')
    .selectAll('app_members')
    .where('apps.tenant_id', '=', tenantId)
    .where('apps.id', '=', appId)
    .orderBy('app_members.created_at')
    .orderBy('app_members.user_id')
    .execute();
}

export async function insertAppMemberRow(tx: Tx, row: AppMemberRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('app_members').values(row).execute();
}

/** Whether they were one. */
export async function deleteAppMemberRow(
  tx: Tx,
  tenantId: string,
  { appId, userId }: { appId: string; userId: string },
): Promise<boolean> {
  const gone = await membersOf(tx, tenantId, userId)
    .where('app_members.app_id', '=', appId)
    .returning('app_members.app_id')
    .executeTakeFirst();
  return gone !== undefined;
}

/** In every app of the tenant, deleted ones too; these apps. No app is locked, as with co-owners. */
export async function deleteAppMemberRowsOf(
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<Pick<AppRow, 'id' | 'slug'>[]> {
  const apps = await membersOf(tx, tenantId, userId).returning(['apps.id', 'apps.slug']).execute();
  return apps.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** What one person is to an app. */
export interface AppPerson {
  user_id: string;
  role: (typeof appRoles)[number];
  since: Date;
}

/**
 * Owner, co-owners and members of an app that is not deleted, each kind in the order in which they came; none where
 * there is no such app. One statement: somebody who changes from one to the other meanwhile stands in one place.
 */
export async function listAppPeople(db: Db, tenantId: string, appId: string): Promise<AppPerson[]> {
  const { rows } = await sql<AppPerson>`
    select p.user_id, p.role, p.since
    from svc.apps a cross join lateral (
      select a.owner_id as user_id, 'owner' as role, a.owner_since as since, 1 as place
      union all select c.user_id, 'co_owner', c.created_at, 2 from svc.app_co_owners c where c.app_id = a.id
      union all select m.user_id, 'member', m.created_at, 3 from svc.app_members m where m.app_id = a.id) p
    where a.tenant_id = ${tenantId} and a.id = ${appId} and a.record <> 'deleted'
    order by p.place, p.since, p.user_id`.execute(db);
  return rows;
}

/** One column holds the representative owner, so there is always exactly one. */
export async function saveOwner(
  tx: Tx,
  tenantId: string,
  { appId, userId, now }: { appId: string; userId: string; now: Date },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('apps')
    .set({ owner_id: userId, owner_since: now, updated_at: now })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', appId)
    .execute();
}

function membersOf(tx: Tx, tenantId: string, userId: string) {
  return tx
    .withTables<Tables>()
    .deleteFrom('app_members')
    .using('apps')
    .whereRef('apps.id', '=', 'app_members.app_id')
    .where('apps.tenant_id', '=', tenantId)
    .where('app_members.user_id', '=', userId);
}
