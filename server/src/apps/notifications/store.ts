import type { Notification } from '@svc/contract/notifications.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import { countRows } from '../../core/paging.ts';

type Derived = 'app_slug' | 'created_at' | 'read_at';
export interface NotificationRow extends Omit<z.output<typeof Notification>, Derived> {
  tenant_id: string;
  user_id: string;
  created_at: Date;
  read_at: Date | null;
}
type Tables = { notifications: NotificationRow };

export interface Reader {
  tenantId: string;
  userId: string;
}

export interface CursorPosition {
  at: Date;
  id: string;
}

export async function insertNotificationRows(tx: Tx, rows: readonly NotificationRow[]): Promise<void> {
  if (rows.length > 0) await tx.withTables<Tables>().insertInto('notifications').values(rows).execute();
}

export function listNotificationRows(
  db: Db,
  reader: Reader,
  { which, before, limit }: { which: 'all' | 'unread'; before: CursorPosition | null; limit: number },
): Promise<NotificationRow[]> {
  let query = selectNotifications(db, reader)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit);
  if (which === 'unread') query = query.where('read_at', 'is', null);
  if (before) query = query.where(sql<boolean>`(created_at, id) < (${before.at}, ${before.id})`);
  return query.execute();
}

export function countUnread(db: Db, reader: Reader): Promise<number> {
  return countRows(selectNotifications(db, reader).where('read_at', 'is', null));
}

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

export function findNotificationRow(db: Db, tenantId: string, id: string) {
  return db
    .withTables<Tables>()
    .selectFrom('notifications')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function deleteNotificationRowsBefore(db: Db, before: Date): Promise<number> {
  const { numDeletedRows } = await db
    .withTables<Tables>()
    .deleteFrom('notifications')
    .where('created_at', '<', before)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function selectNotifications(db: Db, { tenantId, userId }: Reader) {
  return db
    .withTables<Tables>()
    .selectFrom('notifications')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId);
}
