import type { Connector } from '@svc/contract/connectors.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import { isUuid } from '../../core/values.ts';

type ConnectorRecord = z.output<typeof Connector>;

export type ConnectionSettings = Omit<NonNullable<ConnectorRecord['connection']>, 'has_password'>;

type ChangedTypes = 'app_id' | 'connection' | 'schema_refreshed_at' | 'created_at' | 'updated_at';

export interface ConnectorRow extends Omit<ConnectorRecord, ChangedTypes> {
  app_id: string | null;
  connection: ConnectionSettings | null;
  password_sealed: Buffer | null;
  connection_version: number;
  schema_refreshed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}
type Tables = { connectors: ConnectorRow };

export function listConnectorRows(db: Db, tenantId: string, window: PageWindow) {
  return fetchPage(selectConnectors(db, tenantId).orderBy('slug'), window);
}

export function listAllConnectorRows(db: Db, tenantId: string): Promise<ConnectorRow[]> {
  return selectConnectors(db, tenantId).orderBy('slug').execute();
}

export function findConnectorRow(db: Db, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return selectByRef(db, tenantId, ref).executeTakeFirst();
}

export function findConnectorRows(db: Db, tenantId: string, ids: readonly string[]): Promise<ConnectorRow[]> {
  const isNamed = sql<boolean>`id = any(${ids}::uuid[])`;
  return selectConnectors(db, tenantId).where(isNamed).orderBy('name').execute();
}

export function listConnectorsOfApp(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<ConnectorRow[]> {
  return selectConnectors(db, tenantId)
    .where('kind', '=', 'tables')
    .where('app_id', '=', appId)
    .orderBy('id')
    .execute();
}

export function lockConnectorRow(tx: Tx, tenantId: string, ref: string): Promise<ConnectorRow | undefined> {
  return selectByRef(tx, tenantId, ref).forUpdate().executeTakeFirst();
}

export async function lockConnectorForShare(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  return (await selectByRef(tx, tenantId, ref).forKeyShare().executeTakeFirst())?.id ?? null;
}

export async function insertConnectorRow(tx: Tx, row: ConnectorRow): Promise<void> {
  await tx
    .withTables<Tables>()
    .insertInto('connectors')
    .values({ ...row, connection: json(row.connection) })
    .execute();
}

export async function updateConnectorRow(tx: Tx, id: string, set: Partial<ConnectorRow>): Promise<void> {
  const { connection, ...rest } = set;
  const values = connection === undefined ? rest : { ...rest, connection: json(connection) };
  await tx.withTables<Tables>().updateTable('connectors').set(values).where('id', '=', id).execute();
}

const json = (value: ConnectionSettings | null) =>
  (value === null ? null : sql`${JSON.stringify(value)}::jsonb`) as ConnectionSettings | null;

export async function deleteConnectorRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from svc.connectors where id = ${id}`.execute(tx);
}

export async function removeOwner(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<{ id: string; slug: string; owners: string[] }[]> {
  const { rows } = await sql<{ id: string; slug: string; owners: string[] }>`
    update svc.connectors set owners = array_remove(owners, ${userId}::uuid)
    where tenant_id = ${tenantId} and owners @> array[${userId}::uuid] returning id, slug, owners`.execute(
    tx,
  );
  return rows;
}

export function connectorRecord(row: ConnectorRow): ConnectorRecord {
  const { password_sealed, connection_version: _, ...fields } = row;
  return {
    ...fields,
    app_id: row.app_id ?? '',
    connection: row.connection && { ...row.connection, has_password: password_sealed !== null },
    schema_refreshed_at: row.schema_refreshed_at?.toISOString() ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function selectConnectors(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('connectors').selectAll().where('tenant_id', '=', tenantId);
}

function selectByRef(db: Db, tenantId: string, ref: string) {
  return selectConnectors(db, tenantId).where(isUuid(ref) ? 'id' : 'slug', '=', ref);
}

interface KnownTable {
  connector_id: string;
  /** `schema/table`, as in scopes of grants. */
  path: string;
}

export async function listKnownTables(
  db: Db,
  tenantId: string,
  connectorIds: readonly string[],
): Promise<KnownTable[]> {
  const { rows } = await sql<KnownTable>`
    select connector_id, schema_name || '/' || table_name as path from svc.connector_tables
    where tenant_id = ${tenantId} and connector_id = any(${connectorIds}::uuid[]) order by 1, 2`.execute(db);
  return rows;
}
