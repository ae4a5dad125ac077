import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import { type AppRow, appColumns } from './store.ts';

/** What the moves of an app write. */
export type LifeRow = Pick<
  AppRow,
  'record' | 'runtime' | 'archived_at' | 'deleted_at' | 'purge_after' | 'updated_at'
> & { deleted_from: 'active' | 'archived' | null };
type Tables = { apps: LifeRow & { id: string; tenant_id: string } };

export function saveLife(tx: Tx, tenantId: string, id: string, set: Partial<LifeRow>): Promise<AppRow> {
  return tx
    .withTables<{ apps: AppRow & Tables['apps'] }>()
    .updateTable('apps')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .returning(appColumns)
    .executeTakeFirstOrThrow();
}

/** Of a deleted app. */
export async function findRecordBefore(tx: Tx, tenantId: string, id: string): Promise<'active' | 'archived'> {
  const row = await tx
    .withTables<Tables>()
    .selectFrom('apps')
    .select('deleted_from')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.deleted_from ?? 'active';
}

export async function countPeopleOf(
  tx: Tx,
  tenantId: string,
  id: string,
): Promise<{ co_owners: number; members: number }> {
  const { rows } = await sql<{ co_owners: number; members: number }>`
    select (select count(*) from svc.app_co_owners c where c.app_id = apps.id)::int as co_owners,
      (select count(*) from svc.app_members m where m.app_id = apps.id)::int as members
    from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return rows[0] ?? { co_owners: 0, members: 0 };
}

/** With all that refers to it. */
export async function deleteAppRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('apps')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** In every tenant: deleted so long ago that nobody brings them back. The longest due first. */
export async function listAppsToPurge(db: Db): Promise<{ id: string; tenantId: string; slug: string }[]> {
  const { rows } = await sql<{ id: string; tenantId: string; slug: string }>`
    select id, tenant_id as "tenantId", slug from svc.apps
    where record = 'deleted' and purge_after <= now() order by purge_after limit ${purgedAtOnceMax}`.execute(
    db,
  );
  return rows;
}

/** The rest is for the next run. */
const purgedAtOnceMax = 500;
