import type { accessRequestStatuses } from '@svc/contract/access-requests.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

export type AccessRequestStatus = (typeof accessRequestStatuses)[number];

export interface AccessRequestRow {
  id: string;
  tenant_id: string;
  app_id: string;
  user_id: string;
  status: AccessRequestStatus;
  note: string;
  requested_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
}
type Tables = { access_requests: AccessRequestRow };

function selectRequests(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('access_requests')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

/** Newest first. */
export async function listRequestRows(
  db: Db,
  app: AppRef,
  { status, window }: { status: AccessRequestStatus; window: PageWindow },
): Promise<{ rows: AccessRequestRow[]; total: number }> {
  const matching = selectRequests(db, app).where('status', '=', status);
  const rows = await matching
    .selectAll()
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

export function findRequestRow(db: Db, app: AppRef, id: string): Promise<AccessRequestRow | undefined> {
  return selectRequests(db, app).selectAll().where('id', '=', id).executeTakeFirst();
}

export function findLatestRequestRow(
  db: Db,
  app: AppRef,
  userId: string,
): Promise<AccessRequestRow | undefined> {
  return selectRequests(db, app)
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export async function insertRequestRow(tx: Tx, row: AccessRequestRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('access_requests').values(row).execute();
}

export async function updateRequestRow(
  tx: Tx,
  { id }: Pick<AccessRequestRow, 'id'>,
  set: Pick<AccessRequestRow, 'status' | 'decided_by' | 'decided_at'>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('access_requests').set(set).where('id', '=', id).execute();
}

export async function deletePendingRequestRows(
  tx: Tx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('access_requests')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId, status: 'pending' }))
    .execute();
}
