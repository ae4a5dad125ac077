import type { MutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { notifyRequester, remindOfEnd } from './notices.ts';
import { auditEnd } from './rules.ts';
import {
  listTenantsWithDueRequests,
  lockPendingRows,
  type RequestRow,
  saveOutcome,
  takeDueReminders,
} from './store.ts';

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

async function finish(ctx: MutationCtx, row: RequestRow, status: 'withdrawn' | 'expired', reason: string) {
  await saveOutcome(ctx.db, row.id, { status, decidedBy: null, reason, at: ctx.now });
  auditEnd(ctx, row, { status, reason });
}
