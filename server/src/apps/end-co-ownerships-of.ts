import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { deleteCoOwnerRowsOf } from './store.ts';

/**
 * All apps that one person owned beside others, as they leave the tenant: coming back, they own none of these. An app
 * that they represent stays theirs until it is handed over, since an app is never without an owner.
 */
export async function endCoOwnershipsOf(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string; email: string } },
): Promise<void> {
  for (const app of await deleteCoOwnerRowsOf(ctx.db, tenantId, user.id)) {
    ctx.audit({
      action: 'coOwners.remove',
      appId: app.id,
      target: { kind: 'app', id: app.id, name: app.slug },
      before: { co_owner: { user_id: user.id, email: user.email } },
      after: { co_owner: null },
    });
    ctx.changed(appTag(app.id));
  }
}
