import { consolePaths } from '@svc/contract/console-paths.ts';
import { notify } from '../../apps/notifications/notifications.ts';
import { findAppById, listOwnerIds } from '../../apps/record/find-app.ts';
import type { MutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { claimLossNotification, type DomainRow } from './store.ts';

type Lost = Pick<DomainRow, 'tenant_id' | 'app_id' | 'host'> & {
  why: NonNullable<DomainRow['disconnected_for']>;
};

/** Sent while the host is still served, so that owners can fix the records. */
export async function notifyFailing(
  ctx: MutationCtx,
  { routing, ...row }: Pick<DomainRow, 'tenant_id' | 'app_id' | 'host' | 'routing'>,
): Promise<void> {
  await notifyOwners(ctx, row, {
    kind: 'domain_failing',
    title: `${row.host} does not point here any more`,
    text: `The domain is disconnected in a day unless its records are fixed. ${routing.next_step}`,
  });
}

export async function notifyDisconnection(ctx: MutationCtx, { why, ...row }: Lost): Promise<void> {
  await notifyOwners(ctx, row, {
    kind: 'domain_disconnected',
    title: `${row.host} is disconnected`,
    text: whyText[why],
  });
}

const whyText: Readonly<Record<Lost['why'], string>> = {
  not_verified: 'Its DNS records were not found in time. Verify the domain to start again.',
  records_wrong: 'Its DNS records have pointed elsewhere for a day. Fix them, then verify the domain.',
  certificate_expired:
    'Its certificate has expired and could not be renewed. Verify the domain to order a new one.',
  claimed_elsewhere:
    'Another app has proved that it owns the host, and your TXT record is no longer published.',
};

async function notifyOwners(
  ctx: MutationCtx,
  { tenant_id: tenantId, app_id: appId }: Pick<DomainRow, 'tenant_id' | 'app_id'>,
  message: { kind: 'domain_failing' | 'domain_disconnected'; title: string; text: string },
): Promise<void> {
  const [app, tenant] = [await findAppById(ctx, { id: appId }), await findTenant(ctx, { ref: tenantId })];
  if (!app || !tenant) return;
  const owners = await listOwnerIds(ctx.db, { tenantId, appId });
  await notify(ctx, {
    tenantId,
    appId,
    ...message,
    // The caller knows already.
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    path: consolePaths.app(tenant.slug, app.slug, 'domains'),
  });
}

export const lossTopic = 'domains.tellLoss';

export function notifyLoss(deps: () => OperatorDeps): EffectHandler {
  return async (payload) => {
    const [tenantId, appId, id, host] = ['tenantId', 'appId', 'domainId', 'host'].map((key) =>
      String(payload[key]),
    ) as [string, string, string, string];
    const { log } = deps();
    await runAsOperator(deps(), { name: 'domains.disconnect', auditTenantId: tenantId }, async (ctx) => {
      if (!(await claimLossNotification(ctx.db, tenantId, id))) return;
      log.warn({ tenant: tenantId, app: appId, host }, 'domain claimed by another app');
      ctx.audit({
        action: 'domains.disconnect',
        appId,
        target: { kind: 'domain', id, name: host },
        before: { status: 'active', disconnected_for: null },
        after: { status: 'disconnected', disconnected_for: 'claimed_elsewhere' },
      });
      await notifyDisconnection(ctx, { tenant_id: tenantId, app_id: appId, host, why: 'claimed_elsewhere' });
    });
  };
}
