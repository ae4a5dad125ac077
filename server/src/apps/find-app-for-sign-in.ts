import type { AppAccess, Ctx } from '../plumbing/context.ts';
import { findMember } from '../tenants/find-member.ts';
import { findApp } from './find-app.ts';
import { findAppById } from './find-app-by-id.ts';

/**
 * The app, if the person may be signed in to it: an active member of its tenant whom its visibility reaches. That an
 * admin governs the app opens its settings to them, not the app.
 */
export async function findAppForSignIn(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string; userId: string },
): Promise<AppAccess | null> {
  const app = await findAppById(ctx, { id: appId });
  if (!app) return null;
  const member = await findMember(ctx.db, app.tenantId, userId);
  if (member?.status !== 'active') return null;
  return findApp(ctx.db, { id: app.tenantId, role: 'tenant_member' }, { ref: app.id, caller: { userId } });
}
