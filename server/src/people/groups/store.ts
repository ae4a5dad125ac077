import type { Group } from '@svc/contract/groups.shapes.ts';
import type { memberStatuses } from '@svc/contract/identity.ts';
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import { memberStatusSql } from '../tenants/members.ts';

type Derived = 'member_count' | 'external_id' | 'created_at' | 'updated_at';
export interface GroupRow extends Omit<z.output<typeof Group>, Derived> {
  external_id: string | null;
  created_at: Date;
  updated_at: Date;
}
export type CountedGroupRow = GroupRow & { member_count: number };

/** For every decision that a group takes part in: a deactivated membership counts for nothing. */
export function currentGroupIds(tenantId: string | RawBuilder<unknown>, userId: string): RawBuilder<unknown> {
  return sql`(select gm.group_id from svc.group_members gm
    join svc.memberships mine on mine.tenant_id = gm.tenant_id and mine.user_id = gm.user_id
    where gm.tenant_id = ${tenantId} and gm.user_id = ${userId} and mine.deactivated_at is null)`;
}

export async function listGroupsOf(
  db: Db,
  tenantId: string,
  userId: string,
): Promise<{ id: string; name: string }[]> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from svc.groups where id in ${currentGroupIds(tenantId, userId)}`.execute(db);
  return rows;
}

const columns = sql`g.id, g.tenant_id, g.name, g.display_name, g.description, g.source, g.external_id, g.created_at,
  g.updated_at, (select count(*) from svc.group_members gm where gm.group_id = g.id)::int as member_count`;
const refColumn = (ref: string) => (isUuid(ref) ? sql`g.id` : sql`g.name`);

export async function listGroupRows(
  db: Db,
  tenantId: string,
  { where, order = sql`g.name` }: { where: RawBuilder<unknown>; order?: RawBuilder<unknown> },
  window: PageWindow,
): Promise<{ rows: CountedGroupRow[]; total: number }> {
  const filter = sql`from svc.groups g where g.tenant_id = ${tenantId} and ${where}`;
  const { rows } = await sql<CountedGroupRow>`
    select ${columns} ${filter} order by ${order} limit ${window.limit} offset ${window.offset}`.execute(db);
  const count = await sql<{ total: number }>`select count(*)::int as total ${filter}`.execute(db);
  return { rows, total: count.rows[0]?.total ?? 0 };
}

export async function findGroupRow(
  db: Db,
  tenantId: string,
  ref: string,
): Promise<CountedGroupRow | undefined> {
  const { rows } = await sql<CountedGroupRow>`
    select ${columns} from svc.groups g where g.tenant_id = ${tenantId} and ${refColumn(ref)} = ${ref}`.execute(
    db,
  );
  return rows[0];
}

export async function findGroupRows(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<CountedGroupRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<CountedGroupRow>`
    select ${columns} from svc.groups g
    where g.tenant_id = ${tenantId} and g.id = any(${[...ids]}::uuid[]) order by g.name`.execute(db);
  return rows;
}

const lockGroup =
  (strength: 'no key update' | 'key share') =>
  async (tx: Tx, tenantId: string, ref: string): Promise<CountedGroupRow | undefined> => {
    const { rows } = await sql<{ id: string }>`
      select g.id from svc.groups g where g.tenant_id = ${tenantId} and ${refColumn(ref)} = ${ref}
      for ${sql.raw(strength)}`.execute(tx);
    return rows[0] && findGroupRow(tx, tenantId, rows[0].id);
  };
export const lockGroupRow = lockGroup('no key update');
export const lockGroupForShare = lockGroup('key share');

/** Serializes creation and renaming, so that names and the limit can be checked before writing. */
export async function lockTenantGroups(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc groups of ${tenantId}`}, 0))`.execute(tx);
}

export async function countGroupRows(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from svc.groups where tenant_id = ${tenantId}`.execute(db);
  return rows[0]?.total ?? 0;
}

export async function insertGroupRow(tx: Tx, row: GroupRow): Promise<void> {
  await tx.withTables<{ groups: GroupRow }>().insertInto('groups').values(row).execute();
}

export async function updateGroupRow(
  tx: Tx,
  { tenant_id, id }: Pick<GroupRow, 'tenant_id' | 'id'>,
  set: Partial<GroupRow>,
): Promise<void> {
  await tx
    .withTables<{ groups: GroupRow }>()
    .updateTable('groups')
    .set(set)
    .where('tenant_id', '=', tenant_id)
    .where('id', '=', id)
    .execute();
}

export async function deleteGroupRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await sql`delete from svc.groups where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

export interface GroupMemberRow {
  user_id: string;
  email: string;
  name: string;
  status: (typeof memberStatuses)[number];
  since: Date;
}

export async function listGroupMemberRows(
  db: Db,
  { tenant_id, id }: Pick<GroupRow, 'tenant_id' | 'id'>,
  { q, window }: { q?: string; window?: PageWindow } = {},
): Promise<{ rows: GroupMemberRow[]; total: number }> {
  const matches =
    q === undefined
      ? sql`true`
      : sql`(strpos(lower(u.email), lower(${q})) > 0 or strpos(lower(u.name), lower(${q})) > 0)`;
  const page = window ? sql`limit ${window.limit} offset ${window.offset}` : sql``;
  const filter = sql`from svc.group_members gm join svc.users u on u.id = gm.user_id
    join svc.memberships m on m.tenant_id = gm.tenant_id and m.user_id = gm.user_id
    where gm.tenant_id = ${tenant_id} and gm.group_id = ${id} and ${matches}`;
  const { rows } = await sql<GroupMemberRow>`
    select u.id as user_id, u.email, u.name, ${memberStatusSql('u', 'm')} as status, gm.created_at as since
    ${filter} order by u.email ${page}`.execute(db);
  if (!window) return { rows, total: rows.length };
  const count = await sql<{ total: number }>`select count(*)::int as total ${filter}`.execute(db);
  return { rows, total: count.rows[0]?.total ?? 0 };
}

export async function insertGroupMembers(
  tx: Tx,
  { tenant_id, id }: Pick<GroupRow, 'tenant_id' | 'id'>,
  { userIds, now }: { userIds: readonly string[]; now: Date },
): Promise<void> {
  await sql`insert into svc.group_members (tenant_id, group_id, user_id, created_at)
    select ${tenant_id}, ${id}, user_id, ${now} from unnest(${[...userIds]}::uuid[]) as user_id
    on conflict do nothing`.execute(tx);
}

export async function deleteGroupMembers(
  tx: Tx,
  { tenant_id, id }: Pick<GroupRow, 'tenant_id' | 'id'>,
  userIds: readonly string[],
): Promise<void> {
  await sql`delete from svc.group_members
    where tenant_id = ${tenant_id} and group_id = ${id} and user_id = any(${[...userIds]}::uuid[])`.execute(
    tx,
  );
}

export async function listGroupRowsOf(db: Db, tenantId: string, userId: string): Promise<CountedGroupRow[]> {
  const { rows } = await sql<CountedGroupRow>`
    select ${columns} from svc.groups g
    where g.tenant_id = ${tenantId}
      and exists (select from svc.group_members gm where gm.group_id = g.id and gm.user_id = ${userId})
    order by g.name`.execute(db);
  return rows;
}

/** Returns the members of the tenant among these users; they cannot leave it before the transaction ends. */
export async function lockMembersForShare(
  tx: Tx,
  tenantId: string,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; email: string }>`
    select u.id, u.email from svc.memberships m join svc.users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and m.user_id = any(${[...userIds]}::uuid[]) order by u.id
    for key share of m`.execute(tx);
  return new Map(rows.map(({ id, email }) => [id, email]));
}
