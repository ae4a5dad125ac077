import { findAppById, findAppForSignIn, isReviewerOf } from '../../apps/record/find-app.ts';
import { type Ctx, ownsApp } from '../../core/context.ts';
import { findUser } from '../../people/users/users.ts';
import type { CodeRow } from './store.ts';

export interface Visit {
  appId: string;
  userId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/** An app that does not exist takes the same lookups, so that the time does not reveal it. */
export async function canVisit(ctx: Pick<Ctx, 'db'>, visit: Visit): Promise<boolean> {
  const seen = await findAppForSignIn(ctx, visit);
  if (visit.hostKind === 'staging')
    return (seen !== null && ownsApp(seen.relation)) || isReviewerOf(ctx, visit);
  if (seen !== null) return true;
  return isOpenToAll(ctx, visit);
}

/** People outside the tenant see an app only while it runs and is open to the internet. */
async function isOpenToAll(ctx: Pick<Ctx, 'db'>, { appId, userId }: Visit): Promise<boolean> {
  const app = await findAppById(ctx, { id: appId });
  if (app?.visibility !== 'internet' || app.record !== 'active' || app.runtime !== 'running') return false;
  return (await findUser(ctx, { ref: userId }))?.status === 'active';
}

export function isCodeValid(code: CodeRow, { origin, now }: { origin: string; now: Date }): boolean {
  return code.expires_at > now && code.origin === origin;
}
