import { findAppById } from '../apps/find-app-by-id.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import type { DomainsPlace } from './domains-place.ts';
import { gatherEvidence } from './evidence.ts';
import { settleDomain } from './settle-domain.ts';
import { claimDueRow, lockDomainRow, lockHost } from './store.ts';

const atOnceMax = 8;
/** One whose name servers are silent must not keep the others waiting. */
const ofTenantMax = 2;
const leaseSeconds = 120;
/** The next round comes in a minute. */
const roundMsMax = 50_000;

/** Those whose time has come, of all tenants; how many that were. Several copies of the server share them. */
export async function checkDomains(parts: OperatorParts, place: DomainsPlace): Promise<number> {
  const until = performance.now() + roundMsMax;
  /** Of which tenant each is. */
  const underWay = new Map<Promise<void>, string>();
  let checked = 0;
  while (performance.now() < until) {
    const then = underWay.size;
    const except = fullTenants([...underWay.values()]);
    const due = await claimDueRow(parts.db, { except, seconds: leaseSeconds });
    if (due) {
      checked++;
      const { id, tenant_id: tenantId, app_id: appId, host } = due;
      const check = checkDomain(parts, place, { tenantId, appId, id, host })
        // One domain's trouble is not the others': its lease ends, and it is due again.
        .catch((error: unknown) =>
          parts.log.error({ err: error, tenant: tenantId, host }, 'could not check a domain'),
        )
        .finally(() => underWay.delete(check));
      underWay.set(check, tenantId);
    } else if (then === 0) break;
    // One that ended while the next was looked for may have left its tenant a place.
    const isNext = due ? underWay.size < atOnceMax : underWay.size < then;
    if (!isNext) await Promise.race(underWay.keys());
  }
  await Promise.all(underWay.keys());
  return checked;
}

function fullTenants(tenants: readonly string[]): string[] {
  return [...new Set(tenants)].filter((one) => tenants.filter((it) => it === one).length >= ofTenantMax);
}

async function checkDomain(
  parts: OperatorParts,
  place: DomainsPlace,
  { tenantId, appId, id, host }: AppPlace & { id: string; host: string },
): Promise<void> {
  const app = await findAppById(parts, { id: appId });
  const evidence = await gatherEvidence(parts.db, place, { host, subdomain: app?.subdomain ?? null });
  const change = { name: 'domains.check', auditTenantId: tenantId };
  await asOperator(parts, change, async (ctx) => {
    await lockHost(ctx.db, host);
    const row = await lockDomainRow(ctx.db, { tenantId, appId }, id);
    // Removed, or looked at by somebody, since it was found to be due.
    if (!row || row.status === 'disconnected') return;
    const settled = await settleDomain(ctx, row, { evidence, place, by: 'clock' });
    const { status, ownership, routing, disconnected_for: why } = settled;
    const about = { tenant: tenantId, app: appId, host };
    if (status === 'disconnected') parts.log.warn({ ...about, why }, 'a domain is disconnected');
    else if (row.status === 'active' && row.wrong_checks === 0 && settled.wrong_checks > 0)
      parts.log.warn({ ...about, ownership, routing }, 'a domain that is served is not right any more');
  });
}
