import { consolePaths } from '@svc/contract/console-paths.ts';
import { appNames } from '../apps/app-names.ts';
import { ownerIdsOf } from '../apps/owner-ids-of.ts';
import { notify } from '../notifications/notify.ts';
import { withWords } from '../notifications/rules.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { activeAdminIds } from '../tenants/active-admin-ids.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { PublicationRow } from './store.ts';

/** Those who can decide, and did not ask themselves. */
export async function tellReviewers(ctx: MutationCtx, request: PublicationRow): Promise<void> {
  const admins = await activeAdminIds(ctx.db, request.tenant_id);
  await tell(ctx, request, {
    kind: 'publication_requested',
    userIds: admins.filter((id) => id !== request.requested_by),
    title: (app) => `${app} is to be shown to more people: ${request.visibility}`,
    text: withWords(`${ctx.caller.email} asks for it.`, request.note),
  });
}

type Ended = 'approved' | 'rejected' | 'superseded' | 'expired';

/** All who own the app, but for whoever has just decided. Who asked and owns it no more has no part in it. */
export async function tellOwners(
  ctx: MutationCtx,
  request: PublicationRow & { status: Ended },
): Promise<void> {
  const owners = await ownerIdsOf(ctx.db, { tenantId: request.tenant_id, appId: request.app_id });
  await tell(ctx, request, {
    kind: `publication_${request.status}`,
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    title: (app) => titles[request.status](app, request.visibility),
    text: texts[request.status](ctx.caller.email, request.reason),
  });
}

/** Who asked, where another has taken the request back, or has done to the app what it does not outlive. */
export async function tellWhoAsked(ctx: MutationCtx, request: PublicationRow): Promise<void> {
  const owners = await ownerIdsOf(ctx.db, { tenantId: request.tenant_id, appId: request.app_id });
  await tell(ctx, request, {
    kind: 'publication_withdrawn',
    userIds: owners.filter((id) => id === request.requested_by && id !== ctx.caller.userId),
    title: (app) => `Your request to publish ${app} was withdrawn`,
    text: withWords(`${ctx.caller.email} has done that.`, request.reason),
  });
}

const titles: Record<Ended, (app: string, visibility: string) => string> = {
  approved: (app, visibility) => `${app} is ${visibility} from now on`,
  rejected: (app, visibility) => `${app} was not approved to be ${visibility}`,
  superseded: (app) => `The request to publish ${app} is over: something else is deployed`,
  expired: (app) => `Nobody has decided in time whether ${app} is shown to more people`,
};

const texts: Record<Ended, (by: string, words: string) => string> = {
  approved: (by, words) => withWords(`${by} has approved it.`, words),
  rejected: (by, words) => withWords(`${by} has rejected it.`, words),
  superseded: (_, reason) => reason,
  expired: (_, reason) => reason,
};

async function tell(
  ctx: MutationCtx,
  { id, tenant_id: tenantId, app_id: appId }: PublicationRow,
  told: {
    kind: Parameters<typeof notify>[1]['kind'];
    userIds: readonly string[];
    title: (app: string) => string;
    text: string;
  },
): Promise<void> {
  const tenant = await findTenant(ctx, { ref: tenantId });
  const app = (await appNames(ctx.db, tenantId, [appId])).get(appId);
  if (!tenant || !app) return;
  const path = consolePaths.review(tenant.slug, id);
  await notify(ctx, { ...told, tenantId, appId, title: told.title(app.name), path });
}
