import type { Grant } from '@svc/contract/grants.shapes.ts';
import type { GrantStatus, grantSources, subjectKinds } from '@svc/contract/grants.ts';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

export interface GrantRow {
  id: string;
  tenant_id: string;
  subject_id: string;
  subject_kind: (typeof subjectKinds)[number];
  connector_id: string;
  preset_id: string;
  policy_ids: string[];
  scope_resource_paths: string[];
  status: GrantStatus;
  reason: string;
  source: (typeof grantSources)[number];
  granted_by: string;
  granted_at: Date;
  expires_at: Date | null;
  revoked_by: string;
  revoked_at: Date | null;
  created_at: Date;
  updated_at: Date;
}
type Tables = { grants: GrantRow };
export type GrantRecord = z.output<typeof Grant>;

/**
 * Expiry is judged when it is read, to the instant and by the database's clock: what the sweep has not written
 * down yet counts as expired all the same. A grant ends at `expires_at`, not after it.
 */
const isOver = sql<boolean>`(expires_at is not null and expires_at <= clock_timestamp())`;
const statusNow = sql<GrantStatus>`case when status = 'active' and ${isOver} then 'expired' else status end`;
const isActiveNow = sql<boolean>`status = 'active' and not ${isOver}`;
const names = (policyId: string) => sql<boolean>`policy_ids @> array[${policyId}::text]`;

export async function listActiveGrantRows(db: Db, tenantId: string, subjectId: string): Promise<GrantRow[]> {
  return newestFirst(grantsOf(db, tenantId))
    .where('subject_id', '=', subjectId)
    .where('subject_kind', '=', 'user')
    .where('status', '=', 'active')
    .where(isActiveNow)
    .execute();
}

export async function listGrantRows(
  db: Db,
  tenantId: string,
  filter: {
    status?: GrantStatus | undefined;
    subjectId?: string | undefined;
    connectorId?: string | undefined;
    policyId?: string | undefined;
  },
  window: Window,
): Promise<{ rows: GrantRow[]; total: number }> {
  let query = db.withTables<Tables>().selectFrom('grants').where('tenant_id', '=', tenantId);
  if (filter.status !== undefined) query = query.where(statusNow, '=', filter.status);
  if (filter.subjectId !== undefined) query = query.where('subject_id', '=', filter.subjectId);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  if (filter.policyId !== undefined) query = query.where(names(filter.policyId));
  const rows = await newestFirst(withStatusNow(query)).limit(window.limit).offset(window.offset).execute();
  const { total } = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export function findGrantRow(db: Db, tenantId: string, id: string): Promise<GrantRow | undefined> {
  return grantsOf(db, tenantId).where('id', '=', id).executeTakeFirst();
}

/** Waits for whoever changes it now; the status is judged after the wait. */
export async function lockGrantRow(tx: Tx, tenantId: string, id: string): Promise<GrantRow | undefined> {
  const locked = await tx
    .withTables<Tables>()
    .selectFrom('grants')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return locked && findGrantRow(tx, tenantId, id);
}

/** Waits for those who change one of them now; what has ended meanwhile is not among them. */
export function lockActiveGrantRowsOf(tx: Tx, tenantId: string, subjectId: string): Promise<GrantRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('grants')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('subject_id', '=', subjectId)
    .where('subject_kind', '=', 'user')
    .where(isActiveNow)
    .orderBy('id')
    .forUpdate()
    .execute();
}

export async function insertGrantRow(tx: Tx, row: GrantRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('grants').values(row).execute();
}

export async function saveScope(
  tx: Tx,
  tenantId: string,
  id: string,
  scope: string[],
  at: Date,
): Promise<void> {
  await update(tx, tenantId, id, { scope_resource_paths: scope, updated_at: at });
}

export async function saveRevocation(
  tx: Tx,
  tenantId: string,
  id: string,
  by: string,
  at: Date,
): Promise<void> {
  await update(tx, tenantId, id, { status: 'revoked', revoked_by: by, revoked_at: at, updated_at: at });
}

export async function saveExpiry(tx: Tx, tenantId: string, id: string, at: Date): Promise<void> {
  await update(tx, tenantId, id, { status: 'expired', updated_at: at });
}

/** Rows that someone else is changing now are left to the next sweep. */
export function lockOverdueGrantRows(tx: Tx, tenantId: string, limit: number): Promise<GrantRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('grants')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .where(isOver)
    .orderBy('expires_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
}

export async function tenantsWithOverdueGrants(db: Db): Promise<string[]> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('grants')
    .select('tenant_id')
    .distinct()
    .where('status', '=', 'active')
    .where(isOver)
    .execute();
  return rows.map((row) => row.tenant_id);
}

export async function activeIds(
  db: Db,
  tenantId: string,
  user: { policyId: string } | { connectorId: string } | { presetId: string },
  limit: number,
): Promise<string[]> {
  let query = db
    .withTables<Tables>()
    .selectFrom('grants')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    .where(isActiveNow)
    .orderBy('id')
    .limit(limit);
  if ('policyId' in user) query = query.where(names(user.policyId));
  else if ('connectorId' in user) query = query.where('connector_id', '=', user.connectorId);
  else query = query.where('preset_id', '=', user.presetId);
  return (await query.execute()).map((row) => row.id);
}

/** All 18 fields in the order of the spec; unset ones are empty strings. */
export function grantRecord(row: GrantRow): GrantRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    subject_id: row.subject_id,
    subject_kind: row.subject_kind,
    connector_id: row.connector_id,
    preset_id: row.preset_id,
    policy_ids: row.policy_ids,
    scope_resource_paths: row.scope_resource_paths,
    status: row.status,
    reason: row.reason,
    source: row.source,
    granted_by: row.granted_by,
    granted_at: row.granted_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? '',
    revoked_by: row.revoked_by,
    revoked_at: row.revoked_at?.toISOString() ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function grantsOf(db: Db, tenantId: string) {
  return withStatusNow(db.withTables<Tables>().selectFrom('grants').where('tenant_id', '=', tenantId));
}

function withStatusNow<O>(query: SelectQueryBuilder<Tables, 'grants', O>) {
  return query.selectAll().select(statusNow.as('status'));
}

function newestFirst<O>(query: SelectQueryBuilder<Tables, 'grants', O>) {
  return query.orderBy('granted_at', 'desc').orderBy('id', 'desc');
}

async function update(tx: Tx, tenantId: string, id: string, set: Partial<GrantRow>): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('grants')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}
