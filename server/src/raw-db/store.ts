import { sql } from 'kysely';
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
  /** The database was there once. */
  is_made: boolean;
  password_at: Date;
  /** Who was handed the password that counts. */
  known_to: string[];
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
  set: Partial<
    Pick<RawDbRow, 'state' | 'is_closed' | 'connections_max' | 'password_sealed' | 'password_at' | 'known_to'>
  >,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
}

/** Of one app, or of all. One that is being dropped has no use for another password. */
export async function lockRawDbRowsKnownTo(
  tx: Tx,
  tenantId: string,
  { userId, appId }: { userId: string; appId?: string },
): Promise<(RawDbRow & { slug: string })[]> {
  return await tx
    .withTables<Tables & { apps: { id: string; slug: string } }>()
    .selectFrom('raw_databases')
    .innerJoin('apps', 'apps.id', 'raw_databases.app_id')
    .selectAll('raw_databases')
    .select('apps.slug')
    .where('raw_databases.tenant_id', '=', tenantId)
    .where('raw_databases.state', '!=', 'dropping')
    .where(sql<boolean>`${userId}::uuid = any (known_to)`)
    .$if(appId !== undefined, (query) => query.where('raw_databases.app_id', '=', appId ?? ''))
    .orderBy('raw_databases.app_id')
    .forUpdate('raw_databases')
    .execute();
}

/** Unless it is to be dropped by now, or to have another password. */
export async function saveReady(
  db: Db,
  tenantId: string,
  { database, password_sealed }: Pick<RawDbRow, 'database' | 'password_sealed'>,
): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set({ state: 'ready', is_made: true })
    .where('tenant_id', '=', tenantId)
    .where('database', '=', database)
    .where('state', '=', 'creating')
    .where('password_sealed', '=', password_sealed)
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

/** Of all tenants: those that log in. */
export function listRawDbLogins(db: Db): Promise<{ name: string; connectionsMax: number }[]> {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .select(['database as name', 'connections_max as connectionsMax'])
    .where('is_closed', '=', false)
    .where('state', '!=', 'dropping')
    .execute();
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
