import type { Connector } from '@svc/contract/connectors.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

type ConnectorRecord = z.output<typeof Connector>;

export interface ConnectorRow extends Omit<ConnectorRecord, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
}
type Tables = { connectors: ConnectorRow };

export function listConnectorRows(db: Db, tenantId: string, window: PageWindow) {
  return fetchPage(selectConnectors(db, tenantId).orderBy('slug'), window);
}

export function findConnectorRow(db: Db, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return selectByRef(db, tenantId, ref).executeTakeFirst();
}

export function findConnectorRows(db: Db, tenantId: string, ids: readonly string[]): Promise<ConnectorRow[]> {
  const isNamed = sql<boolean>`id = any(${ids}::uuid[])`;
  return selectConnectors(db, tenantId).where(isNamed).orderBy('name').execute();
}

export function lockConnectorRow(tx: Tx, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return selectByRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

/** The connector cannot be deleted before the transaction ends. */
export async function lockConnectorForShare(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  return (await selectByRef(tx, tenantId, ref).forKeyShare().executeTakeFirst())?.id ?? null;
}

export async function insertConnectorRow(tx: Tx, row: ConnectorRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('connectors').values(row).execute();
}

export async function updateConnectorRow(
  tx: Tx,
  id: string,
  set: Pick<ConnectorRow, 'name' | 'description' | 'updated_at'>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('connectors').set(set).where('id', '=', id).execute();
}

export async function deleteConnectorRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from svc.connectors where id = ${id}`.execute(tx);
}

export function connectorRecord(row: ConnectorRow): ConnectorRecord {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

function selectConnectors(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('connectors').selectAll().where('tenant_id', '=', tenantId);
}

function selectByRef(db: Db, tenantId: string, ref: string) {
  return selectConnectors(db, tenantId).where(isUuid(ref) ? 'id' : 'slug', '=', ref);
}
