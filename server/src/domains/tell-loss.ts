import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { takeUntoldLoss } from './store.ts';
import { tellOfDisconnection } from './tell-owners.ts';

export const tellLossTopic = 'domains.tellLoss';

/** Who lost a host to another app is told, and finds it in their own audit. */
export function tellLoss(parts: () => OperatorParts): Effect {
  return async (payload) => {
    const [tenantId, appId, id, host] = ['tenantId', 'appId', 'domainId', 'host'].map((key) =>
      String(payload[key]),
    ) as [string, string, string, string];
    const { log } = parts();
    const change = { name: 'domains.disconnect', auditTenantId: tenantId };
    await asOperator(parts(), change, async (ctx) => {
      if (!(await takeUntoldLoss(ctx.db, tenantId, id))) return;
      log.warn({ tenant: tenantId, app: appId, host }, 'another app has proved that the host is its own');
      ctx.audit({
        action: 'domains.disconnect',
        appId,
        target: { kind: 'domain', id, name: host },
        before: { status: 'active', disconnected_for: null },
        after: { status: 'disconnected', disconnected_for: 'claimed_elsewhere' },
      });
      await tellOfDisconnection(ctx, { tenant_id: tenantId, app_id: appId, host, why: 'claimed_elsewhere' });
    });
  };
}
