import type { AppRef } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { DomainsConfig } from './domain-settings.ts';
import { gatherEvidence } from './evaluate-checks.ts';
import { finishCheck } from './finish-check.ts';
import { claimDueRow, lockDomainRow, lockHost } from './store.ts';

const concurrentMax = 8;
/** Slow name servers of one tenant must not delay the others. */
const perTenantMax = 2;
const leaseSeconds = 120;
/** The job starts every minute. */
const roundMsMax = 50_000;

/** Checks the due domains of all tenants and returns their number. Copies of the server share the work by leases. */
export async function checkDomains(deps: OperatorDeps, config: DomainsConfig): Promise<number> {
  const until = performance.now() + roundMsMax;
  const running = new Map<Promise<void>, string>();
  let checked = 0;
  while (performance.now() < until) {
    const then = running.size;
    const except = busyTenants([...running.values()]);
    const due = await claimDueRow(deps.db, { except, seconds: leaseSeconds });
    if (due) {
      checked++;
      const { id, tenant_id: tenantId, app_id: appId, host } = due;
      const check = checkDomain(deps, config, { tenantId, appId, id, host })
        // The lease of a failed check expires, and the domain is due again.
        .catch((error: unknown) =>
          deps.log.error({ err: error, tenant: tenantId, host }, 'domain check failed'),
        )
        .finally(() => running.delete(check));
      running.set(check, tenantId);
    } else if (then === 0) break;
    // A check that ended during the claim may have freed its tenant's share.
    const isNext = due ? running.size < concurrentMax : running.size < then;
    if (!isNext) await Promise.race(running.keys());
  }
  await Promise.all(running.keys());
  return checked;
}

function busyTenants(tenants: readonly string[]): string[] {
  return [...new Set(tenants)].filter((one) => tenants.filter((it) => it === one).length >= perTenantMax);
}

async function checkDomain(
  deps: OperatorDeps,
  config: DomainsConfig,
  { tenantId, appId, id, host }: AppRef & { id: string; host: string },
): Promise<void> {
  const evidence = await gatherEvidence(deps, config, { host, appId });
  const change = { name: 'domains.check', auditTenantId: tenantId };
  await runAsOperator(deps, change, async (ctx) => {
    await lockHost(ctx.db, host);
    const row = await lockDomainRow(ctx.db, { tenantId, appId }, id);
    // The domain was removed or disconnected since the claim.
    if (!row || row.status === 'disconnected') return;
    const saved = await finishCheck(ctx, row, { evidence, config, by: 'clock' });
    const { status, ownership, routing, disconnected_for: why } = saved;
    const about = { tenant: tenantId, app: appId, host };
    if (status === 'disconnected') deps.log.warn({ ...about, why }, 'domain disconnected');
    else if (row.status === 'active' && row.wrong_checks === 0 && saved.wrong_checks > 0)
      deps.log.warn({ ...about, ownership, routing }, 'active domain has wrong records');
  });
}
