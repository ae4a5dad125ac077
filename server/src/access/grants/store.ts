import type { Grant } from '@svc/contract/grants.shapes.ts';
import type { GrantStatus } from '@svc/contract/grants.ts';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import { currentGroupIds } from '../../people/groups/groups.ts';

type GrantRecord = z.output<typeof Grant>;
type GrantTimes = 'granted_at' | 'expires_at' | 'revoked_at' | 'created_at' | 'updated_at';

export interface GrantRow extends Omit<GrantRecord, GrantTimes> {
  granted_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  created_at: Date;
  updated_at: Date;
}
type Tables = { grants: GrantRow };

export interface Subject {
  kind: GrantRecord['subject_kind'];
  id: string;
}

/** Evaluated on read, whether or not the job has recorded it. A grant ends at `expires_at`, not after it. */
const isOverdue = sql<boolean>`(expires_at is not null and expires_at <= clock_timestamp())`;
const statusNow = sql<GrantStatus>`case when status = 'active' and ${isOverdue} then 'expired' else status end`;
const isActiveNow = sql<boolean>`status = 'active' and not ${isOverdue}`;
const hasPolicy = (policyId: string) => sql<boolean>`policy_ids @> array[${policyId}::text]`;

export async function listActiveGrantRows(db: Db, tenantId: string, userId: string): Promise<GrantRow[]> {
  const applies = sql<boolean>`((subject_kind = 'user' and subject_id = ${userId}) or (subject_kind = 'group'
    and subject_id in (select group_id::text from ${currentGroupIds(tenantId, userId)} as mine)))`;
  return newestFirst(selectGrants(db, tenantId).where(applies).where(isActiveNow)).execute();
}

export async function listUsedPolicyIds(db: Db, tenantId: string): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`select distinct unnest(policy_ids)::text as id from svc.grants
    where tenant_id = ${tenantId} and ${isActiveNow}`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

export function listGrantRowsNaming(
  db: Db,
  tenantId: string,
  { connectorIds, path }: { connectorIds: readonly string[]; path: string },
): Promise<GrantRow[]> {
  return selectGrants(db, tenantId)
    .where(sql<boolean>`connector_id = any(${connectorIds}::uuid[])`)
    .where(sql<boolean>`scope_resource_paths @> array[${path}::text]`)
    .where(isActiveNow)
    .orderBy('id')
    .execute();
}

export function listGrantRows(
  db: Db,
  tenantId: string,
  filter: { status?: GrantStatus; subjectId?: string; connectorId?: string; policyId?: string },
  window: PageWindow,
) {
  let query = newestFirst(selectGrants(db, tenantId));
  if (filter.status !== undefined) query = query.where(statusNow, '=', filter.status);
  if (filter.subjectId !== undefined) query = query.where('subject_id', '=', filter.subjectId);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  if (filter.policyId !== undefined) query = query.where(hasPolicy(filter.policyId));
  return fetchPage(query, window);
}

export function findGrantRow(db: Db, tenantId: string, id: string): Promise<GrantRow | undefined> {
  return selectGrants(db, tenantId).where('id', '=', id).executeTakeFirst();
}

/** The status is evaluated after the lock is acquired. */
export async function lockGrantRow(tx: Tx, tenantId: string, id: string): Promise<GrantRow | undefined> {
  await selectGrants(tx, tenantId).where('id', '=', id).forUpdate().execute();
  return findGrantRow(tx, tenantId, id);
}

export function listSubjectGrantRows(db: Db, tenantId: string, subject: Subject): Promise<GrantRow[]> {
  return newestFirst(selectActive(db, tenantId, subject)).execute();
}

/** By id or slug. In a transaction the app cannot be purged before its end. The table belongs to a later module; read only. */
export async function lockAppForShare(tx: Db, tenantId: string, ref: string) {
  const isNamed = isUuid(ref) ? sql`id = ${ref}` : sql`slug = ${ref}`;
  const { rows } = await sql<{ id: string; name: string }>`select id, slug as name from svc.apps
    where tenant_id = ${tenantId} and ${isNamed} and record <> 'deleted' for key share`.execute(tx);
  return rows[0];
}

export async function lockServiceAccountForShare(tx: Db, tenantId: string, ref: string) {
  const [app = '', name = ''] = ref.split('/');
  const isNamed = isUuid(ref) ? sql`s.id = ${ref}` : sql`a.slug = ${app} and s.name = ${name}`;
  const { rows } = await sql<{ id: string; name: string }>`select s.id, a.slug || '/' || s.name as name
    from svc.service_accounts s join svc.apps a on a.id = s.app_id
    where s.tenant_id = ${tenantId} and ${isNamed} and a.record <> 'deleted' for key share of s`.execute(tx);
  return rows[0];
}

export async function findProgram(
  db: Db,
  tenantId: string,
  { kind, ref }: { kind: 'app' | 'service_account'; ref: string },
): Promise<{ id: string; is_app_active: boolean } | undefined> {
  const [app = '', name = ''] = ref.split('/');
  const isActive = sql`a.record = 'active' and a.runtime <> 'suspended' as is_app_active`;
  const found =
    kind === 'app'
      ? sql<{ id: string; is_app_active: boolean }>`select a.id, ${isActive} from svc.apps a
          where a.tenant_id = ${tenantId} and a.record <> 'deleted'
            and ${isUuid(ref) ? sql`a.id = ${ref}` : sql`a.slug = ${ref}`}`
      : sql<{ id: string; is_app_active: boolean }>`select s.id, ${isActive}
          from svc.service_accounts s join svc.apps a on a.id = s.app_id
          where s.tenant_id = ${tenantId} and a.record <> 'deleted'
            and ${isUuid(ref) ? sql`s.id = ${ref}` : sql`a.slug = ${app} and s.name = ${name}`}`;
  return (await found.execute(db)).rows[0];
}

/** Grants that ended while waiting for the lock are left out. */
export function lockActiveGrantRows(tx: Tx, tenantId: string, subject: Subject): Promise<GrantRow[]> {
  return selectActive(tx, tenantId, subject).orderBy('id').forUpdate().execute();
}

export async function insertGrantRow(tx: Tx, row: GrantRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('grants').values(row).execute();
}

export async function updateGrantRow(tx: Tx, id: string, set: Partial<GrantRow>): Promise<void> {
  await tx.withTables<Tables>().updateTable('grants').set(set).where('id', '=', id).execute();
}

/** Skips rows that are locked by others; the next run expires them. */
export function lockOverdueGrantRows(tx: Tx, tenantId: string, limit: number): Promise<GrantRow[]> {
  return selectGrants(tx, tenantId)
    .where('status', '=', 'active')
    .where(isOverdue)
    .orderBy('expires_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
}

export async function listTenantsWithOverdueGrants(db: Db): Promise<string[]> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('grants')
    .select('tenant_id')
    .distinct()
    .where('status', '=', 'active')
    .where(isOverdue)
    .execute();
  return rows.map((row) => row.tenant_id);
}

export function grantRecord(row: GrantRow): GrantRecord {
  return {
    ...row,
    granted_at: row.granted_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? '',
    revoked_at: row.revoked_at?.toISOString() ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function selectGrants(db: Db, tenantId: string) {
  const query = db.withTables<Tables>().selectFrom('grants').where('tenant_id', '=', tenantId);
  return query.selectAll().select(statusNow.as('status'));
}

function selectActive(db: Db, tenantId: string, subject: Subject) {
  return selectGrants(db, tenantId)
    .where((e) => e.and({ subject_id: subject.id, subject_kind: subject.kind }))
    .where(isActiveNow);
}

function newestFirst<O>(query: SelectQueryBuilder<Tables, 'grants', O>) {
  return query.orderBy('granted_at', 'desc').orderBy('id', 'desc');
}
