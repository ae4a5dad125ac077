import { consolePaths } from '@svc/contract/console-paths.ts';
import { findAppById } from '../apps/find-app-by-id.ts';
import { ownerIdsOf } from '../apps/owner-ids-of.ts';
import { notify } from '../notifications/notify.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { DomainRow } from './store.ts';

type Lost = Pick<DomainRow, 'tenant_id' | 'app_id' | 'host'> & {
  why: NonNullable<DomainRow['disconnected_for']>;
};

/** While it is still served, so that they can mend it. */
export async function tellOfFailing(
  ctx: MutationCtx,
  { routing, ...row }: Pick<DomainRow, 'tenant_id' | 'app_id' | 'host' | 'routing'>,
): Promise<void> {
  await tellOwners(ctx, row, {
    kind: 'domain_failing',
    title: `${row.host} does not lead here any more`,
    text: `It is disconnected tomorrow unless its records are mended. ${routing.next_step}`,
  });
}

export async function tellOfDisconnection(ctx: MutationCtx, { why, ...row }: Lost): Promise<void> {
  await tellOwners(ctx, row, {
    kind: 'domain_disconnected',
    title: `${row.host} is disconnected`,
    text: whyText[why],
  });
}

const whyText: Readonly<Record<Lost['why'], string>> = {
  not_verified: 'Its records were not found within the time that there is for it. Verify it to begin anew.',
  records_wrong: 'Its records have led elsewhere for a day. Mend them, and verify it.',
  certificate_expired: 'Its certificate has expired and could not be renewed. Verify it to order another.',
  claimed_elsewhere: 'Another app has proved that the host is its own, and yours is not published any more.',
};

/** Who does it themself need not be told. */
async function tellOwners(
  ctx: MutationCtx,
  { tenant_id: tenantId, app_id: appId }: Pick<DomainRow, 'tenant_id' | 'app_id'>,
  told: { kind: 'domain_failing' | 'domain_disconnected'; title: string; text: string },
): Promise<void> {
  const [app, tenant] = [await findAppById(ctx, { id: appId }), await findTenant(ctx, { ref: tenantId })];
  if (!app || !tenant) return;
  const owners = await ownerIdsOf(ctx.db, { tenantId, appId });
  await notify(ctx, {
    ...{ tenantId, appId, ...told },
    userIds: owners.filter((id) => id !== ctx.caller.userId),
    path: consolePaths.app(tenant.slug, app.slug, 'domains'),
  });
}
