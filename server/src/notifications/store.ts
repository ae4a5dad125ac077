import type { NotificationKind } from '@svc/contract/notifications.ts';
import type { Db, Tx } from '../plumbing/db.ts';

export interface NotificationRow {
  id: string;
  tenant_id: string;
  user_id: string;
  app_id: string | null;
  kind: NotificationKind;
  title: string;
  text: string;
  path: string;
  created_at: Date;
  read_at: Date | null;
}
type Tables = { notifications: NotificationRow };

/** Whose they are: a person's, in one tenant. */
export interface Reader {
  tenantId: string;
  userId: string;
}

/** A place in the list: all that comes behind it is older. */
export interface Before {
  at: Date;
  id: string;
}

export async function insertNotificationRows(tx: Tx, rows: readonly NotificationRow[]): Promise<void> {
  if (rows.length > 0) await tx.withTables<Tables>().insertInto('notifications').values(rows).execute();
}

export function listNotificationRows(
  db: Db,
  reader: Reader,
  { which, before, limit }: { which: 'all' | 'unread'; before: Before | null; limit: number },
): Promise<NotificationRow[]> {
  let query = of(db, reader).selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit);
  if (which === 'unread') query = query.where('read_at', 'is', null);
  if (before) {
    query = query.where((where) =>
      where.or([
        where('created_at', '<', before.at),
        where.and([where('created_at', '=', before.at), where('id', '<', before.id)]),
      ]),
    );
  }
  return query.execute();
}

export async function countUnread(db: Db, reader: Reader): Promise<number> {
  const { total } = await of(db, reader)
    .where('read_at', 'is', null)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

/** How many were unread. Others' ids are nobody's here. */
export async function markRead(
  tx: Tx,
  { tenantId, userId }: Reader,
  { ids, at }: { ids: readonly string[] | 'all'; at: Date },
): Promise<number> {
  let query = tx
    .withTables<Tables>()
    .updateTable('notifications')
    .set({ read_at: at })
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('read_at', 'is', null);
  if (ids !== 'all') query = query.where('id', 'in', ids);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

export function findNotificationRow(
  db: Db,
  tenantId: string,
  id: string,
): Promise<NotificationRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('notifications')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Of every tenant: for the clock alone. */
export async function deleteNotificationRowsBefore(db: Db, before: Date): Promise<number> {
  const { numDeletedRows } = await db
    .withTables<Tables>()
    .deleteFrom('notifications')
    .where('created_at', '<', before)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function of(db: Db, { tenantId, userId }: Reader) {
  return db
    .withTables<Tables>()
    .selectFrom('notifications')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId);
}
