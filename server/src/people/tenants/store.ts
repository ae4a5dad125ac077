import type { memberStatuses, tenantRoles, userStatuses } from '@svc/contract/identity.ts';
import type { ResourceTier } from '@svc/contract/limits.ts';
import type { deploymentReviews } from '@svc/contract/tenants.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

export type TenantRole = (typeof tenantRoles)[number];

export interface TenantRow {
  id: string;
  slug: string;
  name: string;
  max_resource_tier: ResourceTier;
  review_deployments: (typeof deploymentReviews)[number];
  invite_only_people_max: number;
  access_requests: boolean;
  require_second_factor: boolean;
  created_at: Date;
}
type Tables = {
  tenants: TenantRow & {
    admin_left_at: Date | null;
    admin_left_by: string | null;
  };
  memberships: {
    tenant_id: string;
    user_id: string;
    role: TenantRole;
    created_at: Date;
    deactivated_at: Date | null;
    attributes: Record<string, string>;
  };
  /** Owned by the users slice; read only. */
  users: { id: string; email: string; name: string; status: (typeof userStatuses)[number] };
};

export function findTenantRow(db: Db, ref: string): Promise<TenantRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('tenants')
    .selectAll()
    .where(isUuid(ref) ? 'id' : 'slug', '=', ref)
    .executeTakeFirst();
}

export function listTenantRows(db: Db): Promise<TenantRow[]> {
  return db.withTables<Tables>().selectFrom('tenants').selectAll().orderBy('slug').execute();
}

export function listMemberTenantRows(db: Db, userId: string): Promise<(TenantRow & { role: TenantRole })[]> {
  return selectMemberTenants(db, userId).orderBy('tenants.slug').execute();
}

/** One query, so that a missing tenant and one without the user cannot be distinguished. */
export function findMemberTenantRow(
  db: Db,
  userId: string,
  ref: string,
): Promise<(TenantRow & { role: TenantRole }) | undefined> {
  return selectMemberTenants(db, userId)
    .where(isUuid(ref) ? 'tenants.id' : 'tenants.slug', '=', ref)
    .executeTakeFirst();
}

export async function insertTenantRow(tx: Tx, row: TenantRow): Promise<boolean> {
  const inserted = await tx
    .withTables<Tables>()
    .insertInto('tenants')
    .values(row)
    .onConflict((conflict) => conflict.column('slug').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Serializes changes of the tenant and its members; rows that reference the tenant are not blocked. */
export function lockTenantRow(tx: Tx, tenantId: string): Promise<TenantRow | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('tenants')
    .selectAll()
    .where('id', '=', tenantId)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function updateTenantRow(tx: Tx, tenantId: string, set: Partial<Tables['tenants']>) {
  await tx.withTables<Tables>().updateTable('tenants').set(set).where('id', '=', tenantId).execute();
}

export function listMemberRows(db: Db, tenantId: string, { q }: { q?: string }, window: PageWindow) {
  let query = selectMembers(db, tenantId).orderBy('users.email');
  if (q !== undefined) query = query.where(matchesText(q));
  return fetchPage(query, window);
}

/** `strpos`, not `like`: `%` and `_` in the input are literal. */
const matchesText = (q: string) =>
  sql<boolean>`(strpos(lower(users.email), lower(${q})) > 0 or strpos(lower(users.name), lower(${q})) > 0)`;

export type MemberRow = Awaited<ReturnType<typeof listMemberRows>>['rows'][number];

export function findMemberRow(db: Db, tenantId: string, userId: string): Promise<MemberRow | undefined> {
  return selectMembers(db, tenantId).where('users.id', '=', userId).executeTakeFirst();
}

export async function findMember(
  db: Db,
  tenantId: string,
  ref: string,
): Promise<{ userId: string; email: string; status: MemberRow['status']; role: TenantRole } | null> {
  const query = selectMembers(db, tenantId);
  const row = await (isUuid(ref)
    ? query.where('users.id', '=', ref)
    : query.where(sql`lower(users.email)`, '=', ref.toLowerCase())
  ).executeTakeFirst();
  return row ? { userId: row.user_id, email: row.email, status: row.status, role: row.role } : null;
}

export async function describeMembers(db: Db, tenantId: string, userIds: readonly string[]) {
  // The operator's id is not a UUID.
  const ids = userIds.filter(isUuid);
  if (ids.length === 0) return [];
  const rows = await selectMembers(db, tenantId).where('users.id', 'in', ids).execute();
  return rows.map(({ user_id: id, name, email }) => ({ id, name, email }));
}

/** Like `findMember`; the membership cannot be deleted or deactivated before the transaction ends. */
export async function lockMemberForShare(
  tx: Tx,
  tenantId: string,
  ref: string,
): ReturnType<typeof findMember> {
  const member = await findMember(tx, tenantId, ref);
  if (!member) return null;
  const { rows } = await sql`
    select from svc.memberships where tenant_id = ${tenantId} and user_id = ${member.userId}
    for share`.execute(tx);
  // Read again: the member may have been deactivated while waiting for the lock.
  return rows.length > 0 ? findMember(tx, tenantId, member.userId) : null;
}

export function listActiveAdminIds(db: Db, tenantId: string): Promise<string[]> {
  return listActiveMemberIds(db, tenantId, sql`m.role = 'tenant_admin'`);
}

export async function filterActiveMembers(db: Db, tenantId: string, userIds: readonly string[]) {
  // The operator's id is not a UUID.
  const ids = userIds.filter(isUuid);
  return ids.length === 0 ? [] : listActiveMemberIds(db, tenantId, sql`m.user_id = any(${ids}::uuid[])`);
}

async function listActiveMemberIds(db: Db, tenantId: string, isIncluded: RawBuilder<unknown>) {
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from svc.memberships m join svc.users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and ${isIncluded} and ${memberStatusSql('u', 'm')} = 'active' order by m.user_id`.execute(
    db,
  );
  return rows.map((row) => row.user_id);
}

export async function findSoleAdmin(
  db: Db,
  tenantId: string,
): Promise<{ userId: string; removedAdminAt: Date | null } | null> {
  // One statement: two could count an admin who leaves in between twice or not at all.
  const { rows } = await sql<{ userId: string; removedAdminAt: Date | null }>`
    select m.user_id as "userId", case when t.admin_left_by = m.user_id then t.admin_left_at end as "removedAdminAt"
    from svc.memberships m join svc.users u on u.id = m.user_id join svc.tenants t on t.id = m.tenant_id
    where m.tenant_id = ${tenantId} and m.role = 'tenant_admin' and ${memberStatusSql('u', 'm')} = 'active' limit 2`.execute(
    db,
  );
  return rows.length === 1 ? (rows[0] ?? null) : null;
}

export async function hasTenants(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from svc.tenants limit 1`.execute(db);
  return rows.length > 0;
}

export async function saveMembership(tx: Tx, tenantId: string, { user_id, role, since }: MemberRow) {
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${tenantId}, ${user_id}, ${role}, ${since})
    on conflict (tenant_id, user_id) do update set role = excluded.role`.execute(tx);
}

export async function setDeactivated(
  tx: Tx,
  { tenantId, userId, at }: { tenantId: string; userId: string; at: Date | null },
): Promise<void> {
  await sql`update svc.memberships set deactivated_at = ${at}
    where tenant_id = ${tenantId} and user_id = ${userId}`.execute(tx);
}

/** The person's account was not created by this tenant, and gives access to another one. */
export async function belongsElsewhere(db: Db, tenantId: string, userId: string): Promise<boolean> {
  const { rows } = await sql`
    select from svc.memberships m join svc.users u on u.id = m.user_id
    where m.user_id = ${userId} and m.tenant_id <> ${tenantId} and m.deactivated_at is null
      and u.provisioned_by is distinct from ${tenantId} limit 1`.execute(db);
  return rows.length > 0;
}

/** Active members for whom `belongsElsewhere` is false. */
export async function listMembersOfThisAlone(db: Db, tenantId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select u.id from svc.memberships own join svc.users u on u.id = own.user_id
    where own.tenant_id = ${tenantId} and own.deactivated_at is null
      and (u.provisioned_by = ${tenantId} or not exists (select from svc.memberships m
        where m.user_id = u.id and m.tenant_id <> ${tenantId} and m.deactivated_at is null))`.execute(db);
  return rows.map(({ id }) => id);
}

export async function saveAttributes(
  tx: Tx,
  { tenantId, userId, attributes }: { tenantId: string; userId: string; attributes: Record<string, string> },
): Promise<void> {
  await sql`update svc.memberships set attributes = ${JSON.stringify(attributes)}::jsonb
    where tenant_id = ${tenantId} and user_id = ${userId}`.execute(tx);
}

export async function deleteMembership(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await sql`delete from svc.memberships where tenant_id = ${tenantId} and user_id = ${userId}`.execute(tx);
}

/** The operator suspends a user; the directory of a tenant deactivates a membership. */
export function memberStatusSql(users: string, memberships: string) {
  return sql<
    (typeof memberStatuses)[number]
  >`case when ${sql.ref(`${users}.status`)} = 'suspended' then 'suspended'
    when ${sql.ref(`${memberships}.deactivated_at`)} is not null then 'deactivated' else 'active' end`;
}

function selectMemberTenants(db: Db, userId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('memberships')
    .innerJoin('tenants', 'tenants.id', 'memberships.tenant_id')
    .select(['tenants.id', 'tenants.slug', 'tenants.name', 'tenants.created_at'])
    .select([
      'tenants.max_resource_tier',
      'tenants.review_deployments',
      'tenants.invite_only_people_max',
      'tenants.access_requests',
      'tenants.require_second_factor',
    ])
    .select('memberships.role')
    .where('memberships.user_id', '=', userId)
    .where('memberships.deactivated_at', 'is', null);
}

export async function requiresSecondFactor(db: Db, { userId }: { userId: string }): Promise<boolean> {
  const { rows } = await sql`
    select 1 from svc.memberships m join svc.tenants t on t.id = m.tenant_id
    where m.user_id = ${userId} and m.deactivated_at is null and t.require_second_factor limit 1`.execute(db);
  return rows.length > 0;
}

function selectMembers(db: Db, tenantId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['users.id as user_id', 'users.email', 'users.name'])
    .select(memberStatusSql('users', 'memberships').as('status'))
    .select(['memberships.role', 'memberships.created_at as since', 'memberships.deactivated_at'])
    .select('memberships.attributes')
    .where('memberships.tenant_id', '=', tenantId);
}
