import type { IconType } from '@svc/contract/icons.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { IconVariant } from './rules.ts';

export interface IconRow {
  id: string;
  tenant_id: string;
  app_id: string | null;
  variant: IconVariant;
  content_type: IconType;
  size: number;
  sha256: string;
  width: number;
  height: number;
  object_id: string;
  created_by: string;
  created_at: Date;
}
type Tables = { icons: IconRow };
export type StoredIcon = Pick<IconRow, 'id' | 'object_id'>;

/** Of any tenant: icons are public, and named by nothing but their id. */
export function findIconRow(db: Db, id: string): Promise<IconRow | undefined> {
  return db.withTables<Tables>().selectFrom('icons').selectAll().where('id', '=', id).executeTakeFirst();
}

/** False when the address was used already. */
export async function insertIconRow(tx: Tx, row: IconRow): Promise<boolean> {
  const inserted = await tx
    .withTables<Tables>()
    .insertInto('icons')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function countIconRowsOf(
  tx: Tx,
  tenantId: string,
  { userId, since }: { userId: string; since: Date },
): Promise<number> {
  const { count } = await tx
    .withTables<Tables>()
    .selectFrom('icons')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('created_by', '=', userId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow();
  return count;
}

/** Those that nobody may be about to use any more: made for an app that took them at once, or long ago. */
export function listIconRowsToSweep(tx: Tx, tenantId: string, before: Date): Promise<StoredIcon[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('icons')
    .select(['id', 'object_id'])
    .where('tenant_id', '=', tenantId)
    .where((e) => e.or([e('app_id', 'is not', null), e('created_at', '<', before)]))
    .orderBy('id')
    .execute();
}

export async function deleteIconRows(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .withTables<Tables>()
    .deleteFrom('icons')
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

export function deleteIconRowsOfApp(tx: Tx, tenantId: string, appId: string): Promise<StoredIcon[]> {
  return tx
    .withTables<Tables>()
    .deleteFrom('icons')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .returning(['id', 'object_id'])
    .execute();
}

export async function listTenantsWithIcons(db: Db): Promise<string[]> {
  const rows = await db.withTables<Tables>().selectFrom('icons').select('tenant_id').distinct().execute();
  return rows.map((row) => row.tenant_id);
}

/** Of all tenants: which of these objects a row stands for. */
export async function listKnownIcons(db: Db, ids: readonly string[]): Promise<StoredIcon[]> {
  const { rows } = await sql<StoredIcon>`
    select id, object_id from svc.icons where id = any(${ids}::uuid[])`.execute(db);
  return rows;
}
