import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { AppMemberRecord } from './rules.ts';
import type { AppRow } from './store.ts';

export type InvitedRole = 'co_owner' | 'member';

type AppPerson = { since: Date } & (
  | { user_id: string; group_id: null; role: AppMemberRecord['role'] }
  | { user_id: null; group_id: string; role: 'member' }
);

const tables = { co_owner: sql`svc.app_co_owners`, member: sql`svc.app_members` };
/** Written out: the test of table owners searches the text for these statements. */
const insertInto = {
  co_owner: sql`insert into svc.app_co_owners`,
  member: sql`insert into svc.app_members`,
};

/** One statement, so that a concurrent role change lists nobody twice. Empty for a deleted app. */
export async function listAppPeople(db: Db, { tenantId, appId }: AppRef): Promise<AppPerson[]> {
  const { rows } = await sql<AppPerson>`
    select p.user_id, p.group_id, p.role, p.since
    from svc.apps a cross join lateral (
      select a.owner_id as user_id, null::uuid as group_id, 'owner' as role, a.owner_since as since, 1 as position
      union all select c.user_id, null, 'co_owner', c.created_at, 2 from svc.app_co_owners c where c.app_id = a.id
      union all select null, g.group_id, 'member', g.created_at, 3 from svc.app_member_groups g where g.app_id = a.id
      union all select m.user_id, null, 'member', m.created_at, 4 from svc.app_members m where m.app_id = a.id) p
    where a.tenant_id = ${tenantId} and a.id = ${appId} and a.record <> 'deleted'
    order by p.position, p.since, p.user_id, p.group_id`.execute(db);
  return rows;
}

export async function insertPersonRow(
  tx: Tx,
  role: InvitedRole,
  row: { appId: string; userId: string; addedBy: string; now: Date },
): Promise<void> {
  await sql`${insertInto[role]} (app_id, user_id, added_by, created_at)
    values (${row.appId}, ${row.userId}, ${row.addedBy}, ${row.now})`.execute(tx);
}

export async function deletePersonRow(
  tx: Tx,
  role: InvitedRole,
  { tenantId, appId, userId }: AppRef & { userId: string },
): Promise<boolean> {
  const { rows } = await sql`
    delete from ${tables[role]} p using svc.apps a
    where a.id = p.app_id and a.tenant_id = ${tenantId} and p.app_id = ${appId} and p.user_id = ${userId}
    returning p.app_id`.execute(tx);
  return rows.length > 0;
}

/** Locks no app: adding a person locks the app, then waits for the membership, which the caller has locked. */
export async function deletePersonRowsOfUser(
  tx: Tx,
  role: InvitedRole,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<Pick<AppRow, 'id' | 'slug'>[]> {
  const { rows } = await sql<Pick<AppRow, 'id' | 'slug'>>`
    with deleted as (
      delete from ${tables[role]} p using svc.apps a
      where a.id = p.app_id and a.tenant_id = ${tenantId} and p.user_id = ${userId}
      returning a.id, a.slug)
    select id, slug from deleted order by id`.execute(tx);
  return rows;
}

export async function insertGroupRow(
  tx: Tx,
  row: { appId: string; groupId: string; addedBy: string; now: Date },
): Promise<void> {
  await sql`insert into svc.app_member_groups (app_id, group_id, added_by, created_at)
    values (${row.appId}, ${row.groupId}, ${row.addedBy}, ${row.now})`.execute(tx);
}

export async function deleteGroupRows(
  tx: Tx,
  { tenantId, groupId, appId = null }: { tenantId: string; groupId: string; appId?: string | null },
): Promise<Pick<AppRow, 'id' | 'slug'>[]> {
  const { rows } = await sql<Pick<AppRow, 'id' | 'slug'>>`
    with deleted as (
      delete from svc.app_member_groups g using svc.apps a
      where a.id = g.app_id and a.tenant_id = ${tenantId} and g.group_id = ${groupId}
        and (${appId}::uuid is null or a.id = ${appId}::uuid)
      returning a.id, a.slug)
    select id, slug from deleted order by id`.execute(tx);
  return rows;
}

export async function saveOwner(
  tx: Tx,
  { tenantId, appId, userId, now }: AppRef & { userId: string; now: Date },
): Promise<void> {
  await sql`
    update svc.apps set owner_id = ${userId}, owner_since = ${now}, updated_at = ${now}
    where tenant_id = ${tenantId} and (id = ${appId} or preview_of = ${appId})`.execute(tx);
}

export async function countPeople(tx: Tx, tenantId: string, id: string) {
  const { rows } = await sql<{ co_owners: number; members: number }>`
    select (select count(*) from svc.app_co_owners c where c.app_id = apps.id)::int as co_owners,
      (select count(*) from svc.app_members m where m.app_id = apps.id)::int
        + (select count(*) from svc.app_member_groups g where g.app_id = apps.id)::int as members
    from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return rows[0] ?? { co_owners: 0, members: 0 };
}
