import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { deleteAppMemberRowsOf } from './members-store.ts';

/** All apps that one person was invited to, as they leave the tenant: coming back, they see none of these. */
export async function endAppMembershipsOf(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string; email: string } },
): Promise<void> {
  for (const app of await deleteAppMemberRowsOf(ctx.db, tenantId, user.id)) {
    ctx.audit({
      action: 'appMembers.remove',
      appId: app.id,
      target: { kind: 'app', id: app.id, name: app.slug },
      before: { member: { user_id: user.id, email: user.email } },
      after: { member: null },
    });
    ctx.changed(appTag(app.id));
  }
}
