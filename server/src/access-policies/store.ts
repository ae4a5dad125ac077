import type { AccessPolicy } from '@svc/contract/access-policies.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

export type PolicyRecord = z.output<typeof AccessPolicy>;

export interface PolicyRow extends Omit<PolicyRecord, 'connector_id' | 'created_at' | 'updated_at'> {
  connector_id: string | null;
  created_at: Date;
  updated_at: Date;
}
type Tables = { access_policies: PolicyRow };

/** What a caller sets; the rest is ours. */
export type PolicyFields = Pick<
  PolicyRow,
  | 'name'
  | 'description'
  | 'connector_id'
  | 'resource_path'
  | 'actions'
  | 'row_filter'
  | 'columns'
  | 'masks'
  | 'enabled'
>;

export async function listPolicyRows(
  db: Db,
  tenantId: string,
  filter: { connectorId?: string | undefined },
  window: Window,
): Promise<{ rows: PolicyRow[]; total: number }> {
  let query = db.withTables<Tables>().selectFrom('access_policies').where('tenant_id', '=', tenantId);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  const rows = await query.selectAll().orderBy('name').limit(window.limit).offset(window.offset).execute();
  const { total } = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export function findPolicyRow(db: Db, tenantId: string, id: string): Promise<PolicyRow | undefined> {
  return policiesOf(db, tenantId).where('id', '=', id).executeTakeFirst();
}

export function lockPolicyRow(tx: Tx, tenantId: string, id: string): Promise<PolicyRow | undefined> {
  return policiesOf(tx, tenantId).where('id', '=', id).forUpdate().executeTakeFirst();
}

export function findPolicyRows(db: Db, tenantId: string, ids: readonly string[]): Promise<PolicyRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return policiesOf(db, tenantId).where('id', 'in', ids).orderBy('id').execute();
}

/** In the order of ids, so that two grants over the same policies can not wait for each other. */
export function holdPolicyRows(tx: Tx, tenantId: string, ids: readonly string[]): Promise<{ id: string }[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('access_policies')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export async function policyNameTaken(db: Db, tenantId: string, name: string): Promise<boolean> {
  const row = await policiesOf(db, tenantId).where('name', '=', name).executeTakeFirst();
  return row !== undefined;
}

export async function policyNamesOfConnector(
  db: Db,
  tenantId: string,
  connectorId: string,
): Promise<string[]> {
  const rows = await policiesOf(db, tenantId)
    .where('connector_id', '=', connectorId)
    .orderBy('name')
    .limit(5)
    .execute();
  return rows.map((row) => row.name);
}

export async function insertPolicyRow(tx: Tx, row: PolicyRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('access_policies').values(asStored(row)).execute();
}

export async function updatePolicyRow(
  tx: Tx,
  tenantId: string,
  id: string,
  set: Partial<PolicyRow>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('access_policies')
    .set(asStored(set))
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function deletePolicyRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('access_policies')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** In the order of the contract. */
export function policyRecord(row: PolicyRow): PolicyRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    name: row.name,
    description: row.description,
    connector_id: row.connector_id ?? '',
    resource_path: row.resource_path,
    actions: row.actions,
    row_filter: row.row_filter,
    columns: row.columns,
    masks: row.masks,
    enabled: row.enabled,
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_by: row.updated_by,
    updated_at: row.updated_at.toISOString(),
  };
}

function policiesOf(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('access_policies').selectAll().where('tenant_id', '=', tenantId);
}

/** A bare array would be sent as a PostgreSQL array; jsonb columns take text. */
function asStored<T extends Partial<PolicyRow>>(row: T): T {
  const json = (value: unknown) => sql`${JSON.stringify(value)}::jsonb` as never;
  return {
    ...row,
    ...(row.columns === undefined ? {} : { columns: json(row.columns) }),
    ...(row.masks === undefined ? {} : { masks: json(row.masks) }),
  };
}
