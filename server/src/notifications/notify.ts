import type { NotificationKind } from '@svc/contract/notifications.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { mailTopic } from './mail-topic.ts';
import { readersAmong } from './readers-among.ts';
import { cutText, cutTitle } from './rules.ts';
import { insertNotificationRows, type NotificationRow } from './store.ts';
import { notificationsTag } from './tag.ts';

export interface Told {
  tenantId: string;
  kind: NotificationKind;
  /** Null: of no app. */
  appId: string | null;
  /** Each is told once, however often they are named; who may not hear of it is left out. */
  userIds: readonly string[];
  /** One line, for a list and for the subject of an e-mail. */
  title: string;
  text: string;
  /** Of the console, beginning with `/`. */
  path: string;
}

/**
 * Tells people of what happens in this transaction: they hear of it if it is committed, and of no preview. The e-mail is
 * an effect for each of them, which comes to nothing where the server sends none.
 */
export async function notify(
  ctx: Pick<MutationCtx, 'db' | 'now' | 'newId' | 'enqueue' | 'changed'>,
  { tenantId, kind, appId, userIds, title, text, path }: Told,
): Promise<void> {
  const readers = await readersAmong(ctx.db, { tenant_id: tenantId, kind }, [...new Set(userIds)]);
  const rows: NotificationRow[] = readers.map((userId) => ({
    id: ctx.newId(),
    ...{ tenant_id: tenantId, user_id: userId, app_id: appId, kind },
    ...{ title: cutTitle(title), text: cutText(text), path },
    ...{ created_at: ctx.now, read_at: null },
  }));
  await insertNotificationRows(ctx.db, rows);
  for (const row of rows) {
    ctx.enqueue(mailTopic, { tenantId, notificationId: row.id });
    ctx.changed(notificationsTag(row.user_id));
  }
}
