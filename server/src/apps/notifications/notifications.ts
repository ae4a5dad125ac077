import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Notification, listNotifications as shape } from '@svc/contract/notifications.shapes.ts';
import {
  type NotificationKind,
  notificationMailHoursMax,
  notificationRetentionDays,
  notificationTextCharsMax,
  notificationTitleCharsMax,
} from '@svc/contract/notifications.ts';
import type { z } from 'zod';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter, isUuid } from '../../core/values.ts';
import type { MailTopic } from '../../drivers/mail/mail.ts';
import type { RoleChange } from '../../people/person-events.ts';
import { filterActiveMembers } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { filterActiveUsers } from '../../people/users/users.ts';
import { type AppName, loadAppNames } from '../app-names.ts';
import {
  type CursorPosition,
  countUnread,
  deleteNotificationRowsBefore,
  insertNotificationRows,
  listNotificationRows,
  markRead,
  type NotificationRow,
} from './store.ts';

/** Names may contain line breaks and control characters; a title is one line. */
export function cutTitle(title: string): string {
  return truncate(title.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), notificationTitleCharsMax);
}

export function cutText(text: string): string {
  return truncate(text.replaceAll('\0', ''), notificationTextCharsMax);
}

export function appendMessage(text: string, words: string): string {
  return words === '' ? text : `${text}\n\n${words}`;
}

function isSentToFormerMembers(kind: NotificationKind): boolean {
  return kind === 'role_changed';
}

export function isTooOldToMail({ created_at }: { created_at: Date }, now: Date): boolean {
  return now.getTime() - created_at.getTime() >= notificationMailHoursMax * 3_600_000;
}

function truncate(text: string, charsMax: number): string {
  const chars = [...text];
  return chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`;
}

export const mailTopic: MailTopic = 'notifications.mail';

/** Newest first. Notifications are only appended, so a cursor stays valid. */
export async function listNotifications(
  ctx: TenantCtx,
  query: z.output<typeof shape.query>,
): Promise<z.output<typeof shape.answer>> {
  const reader = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const found = await listNotificationRows(ctx.db, reader, {
    which: query.unread === 'true' ? 'unread' : 'all',
    before: query.cursor === undefined ? null : readCursor(query.cursor),
    limit: query.per_page + 1,
  });
  const rows = found.slice(0, query.per_page);
  const last = found.length > query.per_page ? rows.at(-1) : undefined;
  const appIds = rows.flatMap(({ app_id }) => app_id ?? []);
  const apps = await loadAppNames(ctx.db, reader.tenantId, appIds);
  return {
    items: rows.map((row) => notificationRecord(row, apps)),
    unread: await countUnread(ctx.db, reader),
    next_cursor: last ? formatCursor(last) : null,
  };
}

function notificationRecord(
  { tenant_id: _tenant, user_id: _user, ...row }: NotificationRow,
  apps: ReadonlyMap<string, AppName>,
): z.output<typeof Notification> {
  return {
    ...row,
    app_slug: apps.get(row.app_id ?? '')?.slug ?? null,
    created_at: row.created_at.toISOString(),
    read_at: row.read_at?.toISOString() ?? null,
  };
}

export async function readNotifications(
  ctx: TenantMutationCtx,
  { ids }: { ids: readonly string[] | 'all' },
): Promise<{ changed: number; unread: number }> {
  const reader = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const changed = await markRead(ctx.db, reader, { ids, at: ctx.now });
  const unread = await countUnread(ctx.db, reader);
  ctx.audit({
    action: 'notifications.read',
    target: { kind: 'user', id: ctx.caller.userId, name: ctx.caller.email },
    // With explicit ids, new notifications do not change the plan; with "all" they do, because the caller has
    // not seen them.
    before: { unread: changed },
    after: { unread: 0 },
  });
  ctx.invalidate(notificationsTag(ctx.caller.userId));
  return { changed, unread };
}

function formatCursor({ created_at, id }: Pick<NotificationRow, 'created_at' | 'id'>): string {
  return Buffer.from(`${created_at.getTime()} ${id}`).toString('base64url');
}

function readCursor(cursor: string): CursorPosition {
  const [, time, id] = /^(\d{1,14}) (.+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (id === undefined || !isUuid(id)) throw fail('invalid_cursor');
  return { at: new Date(Number(time)), id };
}

export async function deleteOldNotifications(db: Db, { now }: { now: Date }): Promise<number> {
  return deleteNotificationRowsBefore(db, daysAfter(now, -notificationRetentionDays));
}

export interface NotificationInput {
  tenantId: string;
  kind: NotificationKind;
  appId: string | null;
  /** Duplicates are ignored; users who may not see the notification are skipped. */
  userIds: readonly string[];
  title: string;
  text: string;
  path: string;
}

/** A preview sends nothing. Each e-mail is an outbox effect of the transaction. */
export async function notify(
  ctx: Pick<MutationCtx, 'db' | 'now' | 'newId' | 'enqueue' | 'invalidate'>,
  { tenantId, kind, appId, userIds, title, text, path }: NotificationInput,
): Promise<void> {
  const recipients = await filterRecipients(ctx.db, { tenant_id: tenantId, kind }, [...new Set(userIds)]);
  const rows: NotificationRow[] = recipients.map((userId) => ({
    id: ctx.newId(),
    tenant_id: tenantId,
    user_id: userId,
    app_id: appId,
    kind,
    title: cutTitle(title),
    text: cutText(text),
    path,
    created_at: ctx.now,
    read_at: null,
  }));
  await insertNotificationRows(ctx.db, rows);
  for (const row of rows) {
    ctx.enqueue(mailTopic, { tenantId, notificationId: row.id });
    ctx.invalidate(notificationsTag(row.user_id));
  }
}

export function filterRecipients(
  db: Db,
  { tenant_id, kind }: Pick<NotificationRow, 'tenant_id' | 'kind'>,
  userIds: readonly string[],
): Promise<string[]> {
  return isSentToFormerMembers(kind)
    ? filterActiveUsers(db, userIds)
    : filterActiveMembers(db, tenant_id, userIds);
}

export async function notifyFormerAdmin(ctx: MutationCtx, { tenantId, userId, before, after }: RoleChange) {
  if (before !== 'tenant_admin' || after === 'tenant_admin' || userId === ctx.caller.userId) return;
  const tenant = await findTenant(ctx, { ref: tenantId });
  if (!tenant) return;
  await notify(ctx, {
    tenantId,
    appId: null,
    kind: 'role_changed',
    userIds: [userId],
    title: `You are no longer an admin of ${tenant.name}`,
    text: after
      ? `${ctx.caller.email} changed your role. You are still a member.`
      : `${ctx.caller.email} removed you from the tenant.`,
    path: after ? consolePaths.apps(tenant.slug) : consolePaths.home,
  });
}

const notificationsTag = (userId: string) => `notifications:${userId}`;
