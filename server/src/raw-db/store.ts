import { hostAndPort } from '../drivers/raw-database/raw-url.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { RawDbFacts } from './rules.ts';

export interface RawDbRow {
  app_id: string;
  tenant_id: string;
  database: string;
  state: RawDbFacts['state'];
  is_closed: boolean;
  password_sealed: Buffer;
  connections_max: number;
  address: string;
  enabled_by: string;
  enabled_at: Date;
}
type Tables = { raw_databases: RawDbRow };

export function findRawDbRow(db: Db, tenantId: string, appId: string): Promise<RawDbRow | undefined> {
  return ofApp(db, tenantId, appId).selectAll().executeTakeFirst();
}

export function lockRawDbRow(tx: Tx, tenantId: string, appId: string): Promise<RawDbRow | undefined> {
  return ofApp(tx, tenantId, appId).selectAll().forUpdate().executeTakeFirst();
}

export function findRawDbRowNamed(db: Db, tenantId: string, database: string): Promise<RawDbRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('database', '=', database)
    .executeTakeFirst();
}

export async function insertRawDbRow(tx: Tx, row: RawDbRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('raw_databases').values(row).execute();
}

export async function updateRawDbRow(
  tx: Tx,
  tenantId: string,
  appId: string,
  set: Partial<Pick<RawDbRow, 'state' | 'is_closed' | 'connections_max'>>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
}

/** Unless it is to be dropped by now. */
export async function saveReady(db: Db, tenantId: string, database: string): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set({ state: 'ready' })
    .where('tenant_id', '=', tenantId)
    .where('database', '=', database)
    .where('state', '=', 'creating')
    .execute();
}

export async function deleteRawDbRow(db: Db, tenantId: string, database: string): Promise<void> {
  await db
    .withTables<Tables>()
    .deleteFrom('raw_databases')
    .where('tenant_id', '=', tenantId)
    .where('database', '=', database)
    .execute();
}

export async function hasRawDbRows(db: Db): Promise<boolean> {
  const row = await db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .select('app_id')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Of all tenants: the server has moved, not an app. */
export async function saveAddressOfAll(db: Db, address: string): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set({ address })
    .where('address', '!=', address)
    .execute();
}

export function factsOf(row: RawDbRow): RawDbFacts {
  return { ...row, ...hostAndPort(row.address) };
}

function ofApp(db: Db, tenantId: string, appId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
