import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';

export interface RawDbRow {
  app_id: string;
  tenant_id: string;
  database: string;
  state: 'creating' | 'ready' | 'dropping';
  is_closed: boolean;
  password_sealed: Buffer;
  connections_max: number;
  address: string;
  enabled_by: string;
  enabled_at: Date;
  is_made: boolean;
  password_at: Date;
  known_to: string[];
  review_of: string | null;
}
type Tables = { raw_databases: RawDbRow };

export function findRawDbRow(db: Db, tenantId: string, appId: string): Promise<RawDbRow | undefined> {
  return rawDbQuery(db, tenantId, appId).selectAll().executeTakeFirst();
}

export function lockRawDbRow(tx: Tx, tenantId: string, appId: string): Promise<RawDbRow | undefined> {
  return rawDbQuery(tx, tenantId, appId).selectAll().forUpdate().executeTakeFirst();
}

export function findRawDbRowByName(db: Db, tenantId: string, name: string): Promise<RawDbRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .selectAll()
    .where((e) => e.and({ tenant_id: tenantId, database: name }))
    .executeTakeFirst();
}

export async function insertRawDbRow(tx: Tx, row: RawDbRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('raw_databases').values(row).execute();
}

export async function updateRawDbRow(db: Db, tenantId: string, appId: string, set: Partial<RawDbRow>) {
  await db
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set(set)
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }))
    .execute();
}

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

/** Does nothing when the row was set to dropping, or got another password, in the meantime. */
export async function markRawDbReady(db: Db, { tenant_id, database, password_at }: RawDbRow): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('raw_databases')
    .set({ state: 'ready', is_made: true })
    .where((e) => e.and({ tenant_id, database, state: 'creating', password_at }))
    .execute();
}

export async function deleteRawDbRow(db: Db, tenantId: string, database: string): Promise<void> {
  await sql`delete from svc.raw_databases where tenant_id = ${tenantId} and database = ${database}`.execute(
    db,
  );
}

export function listRawDbLogins(
  db: Db,
): Promise<{ name: string; connectionsMax: number; isReviewed: boolean }[]> {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .select(['database as name', 'connections_max as connectionsMax'])
    .select((e) => e('review_of', 'is not', null).$castTo<boolean>().as('isReviewed'))
    .where('is_closed', '=', false)
    .where('state', '!=', 'dropping')
    .execute();
}

export async function hasRawDbs(db: Db): Promise<boolean> {
  return (await sql`select from svc.raw_databases limit 1`.execute(db)).rows.length > 0;
}

export async function updateServerAddress(db: Db, address: string): Promise<void> {
  await sql`update svc.raw_databases set address = ${address} where address <> ${address}`.execute(db);
}

function rawDbQuery(db: Db, tenantId: string, appId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('raw_databases')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}
