import type { Connector } from '@svc/contract/connectors.shapes.ts';
import type { connectorKinds } from '@svc/contract/connectors.ts';
import type { z } from 'zod';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface ConnectorRow {
  id: string;
  tenant_id: string;
  slug: string;
  name: string;
  kind: (typeof connectorKinds)[number];
  description: string;
  created_by: string;
  created_at: Date;
  updated_at: Date;
}
type Tables = { connectors: ConnectorRow };

export async function listConnectorRows(db: Db, tenantId: string, window: Window) {
  const ofTenant = db.withTables<Tables>().selectFrom('connectors').where('tenant_id', '=', tenantId);
  const rows = await ofTenant.selectAll().orderBy('slug').limit(window.limit).offset(window.offset).execute();
  const { total } = await ofTenant
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

export function findConnectorRow(db: Db, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return byRef(db, tenantId, ref).executeTakeFirst();
}

export function findConnectorRows(db: Db, tenantId: string, ids: readonly string[]): Promise<ConnectorRow[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return db
    .withTables<Tables>()
    .selectFrom('connectors')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .orderBy('name')
    .execute();
}

export function lockConnectorRow(tx: Tx, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return byRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

/** Keeps it from being deleted until the transaction ends, without keeping others from doing the same. */
export function holdConnectorRow(tx: Tx, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return byRef(tx, tenantId, ref).forKeyShare().executeTakeFirst();
}

export async function insertConnectorRow(tx: Tx, row: ConnectorRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('connectors').values(row).execute();
}

export async function updateConnectorRow(
  tx: Tx,
  tenantId: string,
  id: string,
  set: Pick<ConnectorRow, 'name' | 'description' | 'updated_at'>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('connectors')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function deleteConnectorRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('connectors')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export function connectorRecord(row: ConnectorRow): z.output<typeof Connector> {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

function byRef(db: Db, tenantId: string, ref: string) {
  return db
    .withTables<Tables>()
    .selectFrom('connectors')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(isUuid(ref) ? 'id' : 'slug', '=', ref);
}
