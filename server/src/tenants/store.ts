import type { tenantRoles, userStatuses } from '@svc/contract/identity.ts';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';

export type TenantRole = (typeof tenantRoles)[number];

export interface TenantRow {
  id: string;
  slug: string;
  name: string;
  max_resource_tier: (typeof resourceTiers)[number];
  created_at: Date;
}
interface MembershipRow {
  tenant_id: string;
  user_id: string;
  role: TenantRole;
  created_at: Date;
}
type Tables = {
  tenants: TenantRow & {
    /** When one admin last sent another away, and who that was. */
    admin_left_at: Date | null;
    admin_left_by: string | null;
  };
  memberships: MembershipRow;
  /** Read only, for who the members are. */
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

export function listTenantRowsOf(db: Db, userId: string): Promise<(TenantRow & { role: TenantRole })[]> {
  return ofMember(db, userId).orderBy('tenants.slug').execute();
}

/** One question for "is there such a tenant" and "is this user in it": the answer can not tell them apart. */
export function findTenantRowOf(
  db: Db,
  userId: string,
  ref: string,
): Promise<(TenantRow & { role: TenantRole }) | undefined> {
  return ofMember(db, userId)
    .where(isUuid(ref) ? 'tenants.id' : 'tenants.slug', '=', ref)
    .executeTakeFirst();
}

/** False when another tenant has the slug. */
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

export function lockTenantRow(tx: Tx, tenantId: string): Promise<TenantRow | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('tenants')
    .selectAll()
    .where('id', '=', tenantId)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function updateTenantRow(
  tx: Tx,
  tenantId: string,
  set: Pick<TenantRow, 'name' | 'max_resource_tier'>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('tenants').set(set).where('id', '=', tenantId).execute();
}

/** Puts all changes of the tenant's members in line; rows that refer to the tenant may still come and go. */
export async function lockMembersOf(tx: Tx, tenantId: string): Promise<boolean> {
  const row = await tx
    .withTables<Tables>()
    .selectFrom('tenants')
    .select('id')
    .where('id', '=', tenantId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

export async function listMemberRows(
  db: Db,
  tenantId: string,
  { q }: { q: string | undefined },
  window: Window,
) {
  let query = members(db, tenantId);
  if (q !== undefined) query = query.where(isIn(q));
  const rows = await query.orderBy('users.email').limit(window.limit).offset(window.offset).execute();
  const { total } = await query
    .clearSelect()
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

/** Not by a pattern: what was typed is looked for as it is, `%` and `_` too. */
const isIn = (q: string) =>
  sql<boolean>`(strpos(lower(users.email), lower(${q})) > 0 or strpos(lower(users.name), lower(${q})) > 0)`;

export type MemberRow = Awaited<ReturnType<typeof listMemberRows>>['rows'][number];

export function findMemberRow(db: Db, tenantId: string, userId: string): Promise<MemberRow | undefined> {
  return members(db, tenantId).where('users.id', '=', userId).executeTakeFirst();
}

export async function listActiveAdminIds(db: Db, tenantId: string): Promise<string[]> {
  const rows = await members(db, tenantId)
    .where('memberships.role', '=', 'tenant_admin')
    .where('users.status', '=', 'active')
    .execute();
  return rows.map((row) => row.user_id);
}

export async function saveMembership(tx: Tx, row: MembershipRow): Promise<void> {
  await tx
    .withTables<Tables>()
    .insertInto('memberships')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'user_id']).doUpdateSet({ role: row.role }))
    .execute();
}

export async function saveAdminLeft(
  tx: Tx,
  tenantId: string,
  { at, by }: { at: Date; by: string },
): Promise<void> {
  const set = { admin_left_at: at, admin_left_by: by };
  await tx.withTables<Tables>().updateTable('tenants').set(set).where('id', '=', tenantId).execute();
}

export async function deleteMembership(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('memberships')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .execute();
}

function ofMember(db: Db, userId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('memberships')
    .innerJoin('tenants', 'tenants.id', 'memberships.tenant_id')
    .select(['tenants.id', 'tenants.slug', 'tenants.name', 'tenants.max_resource_tier', 'tenants.created_at'])
    .select('memberships.role')
    .where('memberships.user_id', '=', userId);
}

function members(db: Db, tenantId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['users.id as user_id', 'users.email', 'users.name', 'users.status'])
    .select(['memberships.role', 'memberships.created_at as since'])
    .where('memberships.tenant_id', '=', tenantId);
}
