import { consolePaths } from '@svc/contract/console-paths.ts';
import { notify } from '../notifications/notify.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { findTenant } from './find-tenant.ts';
import type { TenantRole } from './store.ts';

/** An admin who is none any more hears of it, whoever did that: others may decide alone from then on. */
export async function tellFormerAdmin(
  ctx: MutationCtx,
  {
    tenantId,
    userId,
    before,
    after,
  }: { tenantId: string; userId: string; before: TenantRole | undefined; after: TenantRole | undefined },
): Promise<void> {
  if (before !== 'tenant_admin' || after === 'tenant_admin' || userId === ctx.caller.userId) return;
  const tenant = await findTenant(ctx, { ref: tenantId });
  if (!tenant) return;
  await notify(ctx, {
    ...{ tenantId, appId: null, kind: 'role_changed', userIds: [userId] },
    title: `You are no admin of ${tenant.name} any more`,
    text: after
      ? `${ctx.caller.email} has changed your role. You are still a member.`
      : `${ctx.caller.email} has taken you out of the tenant.`,
    // Of a tenant that they are not in there is nothing for them to see.
    path: after ? consolePaths.apps(tenant.slug) : consolePaths.home,
  });
}
