import { consolePaths } from '@svc/contract/console-paths.ts';
import { loadAppNames } from '../../apps/app-names.ts';
import { appendMessage, notify } from '../../apps/notifications/notifications.ts';
import { listOwnerIds } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import { listActiveAdminIds } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { PublicationRow } from './publications.ts';

export async function notifyRequested(ctx: MutationCtx, request: PublicationRow): Promise<void> {
  const admins = await listActiveAdminIds(ctx.db, request.tenant_id);
  const owners = await listOwnerIds(ctx.db, { tenantId: request.tenant_id, appId: request.app_id });
  await notifyAbout(ctx, request, {
    kind: 'publication_requested',
    userIds: [...new Set([...admins, ...owners])].filter(
      (id) => id !== request.requested_by || (isDeployment(request) && owners.includes(id)),
    ),
    title: (app) =>
      isDeployment(request)
        ? `A new deployment of ${app} needs a review`
        : `${app} requests to be ${request.visibility}`,
    text: isDeployment(request)
      ? appendMessage('It goes live when an admin approves it.', request.note)
      : appendMessage(`${ctx.caller.email} requested it.`, request.note),
  });
}

type FinalStatus = 'approved' | 'rejected' | 'superseded' | 'expired';

export async function notifyOwners(ctx: MutationCtx, request: PublicationRow & { status: FinalStatus }) {
  const owners = await listOwnerIds(ctx.db, { tenantId: request.tenant_id, appId: request.app_id });
  await notifyAbout(ctx, request, {
    kind: `publication_${request.status}`,
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    title: (app) =>
      isDeployment(request)
        ? deploymentTitles[request.status](app)
        : titles[request.status](app, request.visibility),
    text:
      request.status === 'approved' && request.decided_by === null
        ? request.reason
        : texts[request.status](ctx.caller.email, request.reason),
  });
}

export async function notifyRequester(ctx: MutationCtx, request: PublicationRow): Promise<void> {
  const owners = await listOwnerIds(ctx.db, { tenantId: request.tenant_id, appId: request.app_id });
  await notifyAbout(ctx, request, {
    kind: 'publication_withdrawn',
    userIds: owners.filter((id) => id === request.requested_by && id !== ctx.caller.userId),
    title: (app) =>
      isDeployment(request)
        ? `The review of your deployment of ${app} was withdrawn`
        : `Your request to publish ${app} was withdrawn`,
    text: appendMessage(`${ctx.caller.email} withdrew it.`, request.reason),
  });
}

const titles: Record<FinalStatus, (app: string, visibility: string) => string> = {
  approved: (app, visibility) => `${app} is now ${visibility}`,
  rejected: (app, visibility) => `${app} was not approved to be ${visibility}`,
  superseded: (app) => `The request to publish ${app} is superseded: another version is deployed`,
  expired: (app) => `The request to publish ${app} expired`,
};

const deploymentTitles: Record<FinalStatus, (app: string) => string> = {
  approved: (app) => `The new deployment of ${app} is approved and goes live`,
  rejected: (app) => `The new deployment of ${app} was rejected`,
  superseded: (app) => `The review of a deployment of ${app} is superseded`,
  expired: (app) => `The review of a deployment of ${app} expired`,
};

function isDeployment({ pinned }: PublicationRow): boolean {
  return pinned === 'built';
}

const texts: Record<FinalStatus, (by: string, words: string) => string> = {
  approved: (by, words) => appendMessage(`${by} approved it.`, words),
  rejected: (by, words) => appendMessage(`${by} rejected it.`, words),
  superseded: (_, reason) => reason,
  expired: (_, reason) => reason,
};

async function notifyAbout(
  ctx: MutationCtx,
  { id, tenant_id: tenantId, app_id: appId }: PublicationRow,
  notification: {
    kind: Parameters<typeof notify>[1]['kind'];
    userIds: readonly string[];
    title: (app: string) => string;
    text: string;
  },
): Promise<void> {
  const tenant = await findTenant(ctx, { ref: tenantId });
  const app = (await loadAppNames(ctx.db, tenantId, [appId])).get(appId);
  if (!tenant || !app) return;
  const path = consolePaths.review(tenant.slug, id);
  await notify(ctx, { ...notification, tenantId, appId, title: notification.title(app.name), path });
}
