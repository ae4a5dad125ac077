import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';
import type { PolicyRecord, PolicyRow } from '../access-events.ts';

type Tables = { access_policies: PolicyRow };

export type PolicyFields = Omit<
  PolicyRow,
  'id' | 'tenant_id' | 'version' | 'created_by' | 'created_at' | 'updated_by' | 'updated_at'
>;

export function listPolicyRows(
  db: Db,
  tenantId: string,
  filter: { connectorId?: string },
  window: PageWindow,
) {
  let query = selectPolicies(db, tenantId).orderBy('name');
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  return fetchPage(query, window);
}

export function findPolicyRow(db: Db, tenantId: string, ref: string): Promise<PolicyRow | undefined> {
  return selectPolicies(db, tenantId)
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .executeTakeFirst();
}

export function lockPolicyRow(tx: Tx, tenantId: string, ref: string): Promise<PolicyRow | undefined> {
  return selectPolicies(tx, tenantId)
    .where(isUuid(ref) ? 'id' : 'name', '=', ref)
    .forUpdate()
    .executeTakeFirst();
}

export function findPolicyRows(db: Db, tenantId: string, ids: readonly string[]): Promise<PolicyRow[]> {
  return selectPolicies(db, tenantId).where(sql<boolean>`id = any(${ids}::uuid[])`).orderBy('id').execute();
}

/** Enforced policies narrow everybody's access, also without a grant that names them. */
export function listEnforcedPolicyRows(db: Db, tenantId: string): Promise<PolicyRow[]> {
  return selectPolicies(db, tenantId).where(sql<boolean>`enforced and enabled`).orderBy('id').execute();
}

export function listPolicyRowsOf(
  db: Db,
  tenantId: string,
  connectorIds: readonly string[],
): Promise<PolicyRow[]> {
  return selectPolicies(db, tenantId)
    .where(sql<boolean>`enabled and (connector_id is null or connector_id = any(${connectorIds}::uuid[]))`)
    .orderBy('name')
    .execute();
}

/** By id or name. Locks in id order to avoid deadlocks between grants with the same policies. */
export function lockPolicyRowsForShare(tx: Tx, tenantId: string, refs: readonly string[]) {
  const names = refs.filter((ref) => !isUuid(ref));
  return selectPolicies(tx, tenantId)
    .where(sql<boolean>`(id = any(${refs.filter(isUuid)}::uuid[]) or name = any(${names}::text[]))`)
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export function findPolicyRowByName(db: Db, tenantId: string, name: string): Promise<PolicyRow | undefined> {
  return selectPolicies(db, tenantId).where('name', '=', name).executeTakeFirst();
}

export function listEnabledPolicyRows(db: Db, tenantId: string): Promise<PolicyRow[]> {
  return selectPolicies(db, tenantId).where('enabled', '=', true).orderBy('name').execute();
}

export async function insertPolicyRow(tx: Tx, row: PolicyRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('access_policies').values(toStored(row)).execute();
}

export async function updatePolicyRow(tx: Tx, row: PolicyRow): Promise<void> {
  const update = tx.withTables<Tables>().updateTable('access_policies').set(toStored(row));
  await update.where('id', '=', row.id).execute();
}

export async function deletePolicyRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from svc.access_policies where id = ${id}`.execute(tx);
}

export function policyRecord(row: PolicyRow): PolicyRecord {
  return {
    ...row,
    connector_id: row.connector_id ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function selectPolicies(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('access_policies').selectAll().where('tenant_id', '=', tenantId);
}

/** The driver sends a bare array as a PostgreSQL array; jsonb columns need text. */
function toStored(row: PolicyRow): PolicyRow {
  const json = (value: unknown) => sql`${JSON.stringify(value)}::jsonb` as never;
  return { ...row, columns: json(row.columns), masks: json(row.masks) };
}
