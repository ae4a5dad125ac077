import type { AppAccess, Ctx } from '../plumbing/context.ts';
import { noUuid } from '../plumbing/ref.ts';
import { findMember } from '../tenants/find-member.ts';
import { findApp } from './find-app.ts';
import { findAppById } from './find-app-by-id.ts';

/**
 * The app, if the person may be signed in to it: an active member of its tenant whom its visibility reaches. That an
 * admin governs the app opens its settings to them, not the app. The look-ups are the same whatever they find, so that
 * the time they take does not tell an app that is not there from one that is not for them.
 */
export async function findAppForSignIn(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string; userId: string },
): Promise<AppAccess | null> {
  const app = await findAppById(ctx, { id: appId });
  const tenant = { id: app?.tenantId ?? noUuid, role: 'tenant_member' } as const;
  const member = await findMember(ctx.db, tenant.id, userId);
  const seen = await findApp(ctx.db, tenant, { ref: app?.id ?? noUuid, caller: { userId } });
  return member?.status === 'active' ? seen : null;
}
