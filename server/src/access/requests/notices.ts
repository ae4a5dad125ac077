import { consolePaths } from '@svc/contract/console-paths.ts';
import type { NotificationKind } from '@svc/contract/notifications.ts';
import type { MutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { listActiveAdminIds } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { publishAccessEvent } from '../access-events.ts';
import { auditEnd, durationText } from './rules.ts';
import {
  type EndingRow,
  listTenantsWithDueRequests,
  lockPendingRows,
  type RequestRow,
  saveOutcome,
  takeDueReminders,
} from './store.ts';

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

/** The link leads to the form with the same request filled in. */
async function remindOfEnd(ctx: MutationCtx, request: EndingRow & { ends_at: Date }): Promise<void> {
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

/** Called when the requester leaves the tenant or the connector is deleted: there is nothing left to decide. */
export async function cancelRequests(
  ctx: MutationCtx,
  { tenantId, of, reason }: { tenantId: string; of: Parameters<typeof lockPendingRows>[2]; reason: string },
): Promise<void> {
  for (const row of await lockPendingRows(ctx.db, tenantId, of)) await finish(ctx, row, 'withdrawn', reason);
}

const perRunMax = 500;

/** Ends requests that nobody decided, and reminds people of grants that end. A failing tenant does not hold up the others. */
export async function endDueRequests(deps: OperatorDeps): Promise<void> {
  for (const tenantId of await listTenantsWithDueRequests(deps.db)) {
    const change = { name: 'grantRequests.expire', auditTenantId: tenantId };
    await runAsOperator(deps, change, (ctx) => endDueRequestsOf(ctx, { tenantId })).catch((error: unknown) =>
      deps.log.error({ err: error, tenant: tenantId }, 'expiry of grant requests failed'),
    );
  }
}

async function endDueRequestsOf(ctx: MutationCtx, { tenantId }: { tenantId: string }): Promise<void> {
  for (const row of await lockPendingRows(ctx.db, tenantId, { overdue: perRunMax })) {
    await finish(ctx, row, 'expired', '');
    await notifyRequester(ctx, { ...row, status: 'expired' });
  }
  for (const row of await takeDueReminders(ctx.db, tenantId, perRunMax))
    if (row.ends_at) await remindOfEnd(ctx, { ...row, ends_at: row.ends_at });
}

async function finish(
  ctx: MutationCtx,
  row: RequestRow,
  status: 'withdrawn' | 'expired',
  reason: string,
): Promise<void> {
  await saveOutcome(ctx.db, row.id, { status, decidedBy: null, reason, at: ctx.now });
  auditEnd(ctx, row, { status, reason });
}
