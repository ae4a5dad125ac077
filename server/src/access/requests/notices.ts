import { consolePaths } from '@svc/contract/console-paths.ts';
import type { NotificationKind } from '@svc/contract/notifications.ts';
import type { MutationCtx } from '../../core/context.ts';
import { listActiveAdminIds } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { publishAccessEvent } from '../access-events.ts';
import { durationText } from './rules.ts';
import type { EndingRow, RequestRow } from './store.ts';

/** Owners and admins decide; where a request has been approved already, nobody has to. */
export async function notifyApprovers(ctx: MutationCtx, request: RequestRow): Promise<void> {
  const admins = await listActiveAdminIds(ctx.db, request.tenant_id);
  await publish(ctx, request, {
    kind: 'access_requested',
    userIds: [...admins, ...request.connector_owners].filter((id) => id !== request.requested_by),
    title: `${request.requested_by_email} requests access to ${request.connector_name}`,
    text: `Preset ${request.preset_name}, ${scopeText(request)}, for ${durationText(request.duration_seconds)}.\n\n${request.reason}`,
    path: (tenant) => consolePaths.grantRequest(tenant, request.id),
  });
}

export async function notifyRequester(
  ctx: MutationCtx,
  request: RequestRow & { status: 'approved' | 'rejected' | 'expired' },
): Promise<void> {
  const by = request.decided_by === null ? '' : ` by ${ctx.caller.email}`;
  const texts = {
    approved: `Approved${by} for ${durationText(request.duration_seconds)}.`,
    rejected: `Rejected${by}.`,
    expired: 'Nobody decided within 7 days. Request it again if you still need it.',
  };
  const titles = {
    approved: `You have access to ${request.connector_name}`,
    rejected: `Your request for access to ${request.connector_name} was rejected`,
    expired: `Your request for access to ${request.connector_name} has expired`,
  };
  await publish(ctx, request, {
    kind: `access_${request.status}`,
    userIds: [request.requested_by],
    title: titles[request.status],
    text: [texts[request.status], request.decision_reason].filter((part) => part !== '').join('\n\n'),
    path: (tenant) => consolePaths.grantRequest(tenant, request.id),
  });
}

export async function remindOfEnd(ctx: MutationCtx, request: EndingRow & { ends_at: Date }): Promise<void> {
  await publish(ctx, request, {
    kind: 'access_ending',
    userIds: [request.requested_by],
    title: `Your access to ${request.connector_name} ends soon`,
    text: `It ends at ${request.ends_at.toISOString()}. Request it again if you need it for longer.`,
    path: (tenant) =>
      consolePaths.requestAccess(tenant, {
        connector: request.connector_slug,
        preset: request.preset_id,
        scope: request.scope_resource_paths.join(','),
      }),
  });
}

const scopeText = ({ scope_resource_paths: paths }: RequestRow) =>
  paths.length === 0 ? 'the whole connector' : paths.join(', ');

async function publish(
  ctx: MutationCtx,
  { tenant_id: tenantId }: RequestRow,
  {
    path,
    ...notice
  }: {
    kind: NotificationKind;
    userIds: readonly string[];
    title: string;
    text: string;
    path: (tenant: string) => string;
  },
): Promise<void> {
  const tenant = await findTenant(ctx, { ref: tenantId });
  if (tenant)
    await publishAccessEvent(ctx, 'notice', { ...notice, tenantId, appId: null, path: path(tenant.slug) });
}
