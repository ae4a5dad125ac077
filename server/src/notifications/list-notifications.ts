import type { listNotifications as shape } from '@svc/contract/notifications.shapes.ts';
import type { z } from 'zod';
import { type AppName, appNames } from '../apps/app-names.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { cursorFrom, readCursor } from './cursor.ts';
import { countUnread, listNotificationRows, type NotificationRow } from './store.ts';

/** The caller's own, newest first. The list grows at its head only, so a cursor stays good. */
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
  const apps = await appNames(
    ctx.db,
    reader.tenantId,
    rows.flatMap(({ app_id }) => app_id ?? []),
  );
  return {
    items: rows.map((row) => notificationRecord(row, apps)),
    unread: await countUnread(ctx.db, reader),
    next_cursor: last ? cursorFrom(last) : null,
  };
}

function notificationRecord(
  { id, kind, app_id, title, text, path, created_at, read_at }: NotificationRow,
  apps: ReadonlyMap<string, AppName>,
): z.output<typeof shape.answer>['items'][number] {
  return {
    ...{ id, kind, app_id, app_slug: app_id === null ? null : (apps.get(app_id)?.slug ?? null) },
    ...{ title, text, path },
    created_at: created_at.toISOString(),
    read_at: read_at?.toISOString() ?? null,
  };
}
