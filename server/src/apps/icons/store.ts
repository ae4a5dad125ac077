import type { Icon } from '@svc/contract/icons.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { countRows } from '../../core/paging.ts';

export interface IconRow extends Omit<z.output<typeof Icon>, 'icon_url'> {
  tenant_id: string;
  object_id: string;
  created_by: string;
  created_at: Date;
}
type Tables = { icons: IconRow };
export type StoredIcon = Pick<IconRow, 'id' | 'object_id'>;

export function findIconRow(db: Db, id: string): Promise<IconRow | undefined> {
  return db.withTables<Tables>().selectFrom('icons').selectAll().where('id', '=', id).executeTakeFirst();
}

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

export function countIconRows(tx: Tx, tenantId: string, { userId, since }: { userId: string; since: Date }) {
  const icons = tx.withTables<Tables>().selectFrom('icons').where('tenant_id', '=', tenantId);
  return countRows(icons.where('created_by', '=', userId).where('created_at', '>', since));
}

export function listUnusedCandidates(tx: Tx, tenantId: string, before: Date): Promise<StoredIcon[]> {
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
  await deleteIcons(tx, tenantId).where('id', 'in', ids).execute();
}

export function deleteIconRowsOfApp(tx: Tx, tenantId: string, appId: string): Promise<StoredIcon[]> {
  return deleteIcons(tx, tenantId).where('app_id', '=', appId).returning(['id', 'object_id']).execute();
}

function deleteIcons(tx: Tx, tenantId: string) {
  return tx.withTables<Tables>().deleteFrom('icons').where('tenant_id', '=', tenantId);
}

export async function listTenantsWithIcons(db: Db): Promise<string[]> {
  const rows = await db.withTables<Tables>().selectFrom('icons').select('tenant_id').distinct().execute();
  return rows.map((row) => row.tenant_id);
}

export async function listKnownIcons(db: Db, ids: readonly string[]): Promise<StoredIcon[]> {
  const { rows } = await sql<StoredIcon>`
    select id, object_id from svc.icons where id = any(${ids}::uuid[])`.execute(db);
  return rows;
}
