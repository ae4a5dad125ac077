import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import type { AppRef } from '../app-events.ts';
import type { AppChange } from './store.ts';

export async function findRecordBeforeDeletion(tx: Tx, tenantId: string, id: string) {
  const { rows } = await sql<Pick<AppChange, 'deleted_from'>>`
    select deleted_from from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return rows[0]?.deleted_from ?? 'active';
}

export async function countPeople(tx: Tx, tenantId: string, id: string) {
  const { rows } = await sql<{ co_owners: number; members: number }>`
    select (select count(*) from svc.app_co_owners c where c.app_id = apps.id)::int as co_owners,
      (select count(*) from svc.app_members m where m.app_id = apps.id)::int
        + (select count(*) from svc.app_member_groups g where g.app_id = apps.id)::int as members
    from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return rows[0] ?? { co_owners: 0, members: 0 };
}

/** Foreign keys delete everything that references the app. */
export async function deleteAppRow(tx: Tx, tenantId: string, id: string): Promise<void> {
  await sql`delete from svc.apps where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

/** Across all tenants, the longest overdue first. */
export async function listAppsToPurge(db: Db): Promise<AppRef[]> {
  const { rows } = await sql<AppRef>`
    select id as "appId", tenant_id as "tenantId", slug from svc.apps
    where record = 'deleted' and purge_after <= now() order by purge_after limit 500`.execute(db);
  return rows;
}
