import type { TenantMutationCtx } from '../plumbing/context.ts';
import { countUnread, markRead } from './store.ts';
import { notificationsTag } from './tag.ts';

/** The caller's own; what is read already, or somebody else's, is left as it is. */
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
    // Of those that were named: what else comes meanwhile changes no plan. Of all of them it does: nobody has seen it.
    before: { unread: changed },
    after: { unread: 0 },
  });
  ctx.changed(notificationsTag(ctx.caller.userId));
  return { changed, unread };
}
