import { findAppById } from '../apps/find-app-by-id.ts';
import { findAppForSignIn } from '../apps/find-app-for-sign-in.ts';
import type { Ctx } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { noUuid } from '../plumbing/ref.ts';
import { findMember } from '../tenants/find-member.ts';
import { findUser } from '../users/find-user.ts';

export interface Visit {
  appId: string;
  userId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/** Whether the person may see what is shown there; the same no, after the same look-ups, for an app that is not there. */
export async function mayVisit(ctx: Pick<Ctx, 'db'>, visit: Visit): Promise<boolean> {
  const seen = await findAppForSignIn(ctx, visit);
  if (visit.hostKind !== 'staging') return seen !== null || isOpenToAll(ctx, visit);
  return (seen !== null && ownsApp(seen.relation)) || isReviewer(ctx, visit);
}

/** To people outside its tenant an app is there only while it is shown to the internet. */
async function isOpenToAll(ctx: Pick<Ctx, 'db'>, { appId, userId }: Visit): Promise<boolean> {
  const app = await findAppById(ctx, { id: appId });
  if (app?.visibility !== 'internet' || app.record !== 'active' || app.runtime !== 'running') return false;
  return (await findUser(ctx, { ref: userId }))?.status === 'active';
}

async function isReviewer(ctx: Pick<Ctx, 'db'>, { appId, userId }: Visit): Promise<boolean> {
  const app = await findAppById(ctx, { id: appId });
  const member = await findMember(ctx.db, app?.tenantId ?? noUuid, userId);
  return member?.status === 'active' && member.role === 'tenant_admin';
}
