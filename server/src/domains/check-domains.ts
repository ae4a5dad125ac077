import { findAppById } from '../apps/find-app-by-id.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import type { DomainsPlace } from './domains-place.ts';
import { gatherEvidence } from './evidence.ts';
import { settleDomain } from './settle-domain.ts';
import { type AppPlace, claimDueRows, lockDomainRow, lockHost } from './store.ts';

const atOnceMax = 8;
const leaseSeconds = 120;
/** The next round comes in a minute. */
const roundMsMax = 50_000;

/** Those whose time has come, of all tenants; how many that were. Several copies of the server share them. */
export async function checkDomains(parts: OperatorParts, place: DomainsPlace): Promise<number> {
  const until = performance.now() + roundMsMax;
  let checked = 0;
  while (performance.now() < until) {
    const due = await claimDueRows(parts.db, { limit: atOnceMax, seconds: leaseSeconds });
    if (due.length === 0) break;
    checked += due.length;
    await Promise.all(
      due.map(({ id, tenant_id: tenantId, app_id: appId, host }) =>
        // One domain's trouble is not the others': its lease ends, and it is due again.
        checkDomain(parts, place, { tenantId, appId, id, host }).catch((error: unknown) =>
          parts.log.error({ err: error, tenant: tenantId, host }, 'could not check a domain'),
        ),
      ),
    );
  }
  return checked;
}

async function checkDomain(
  parts: OperatorParts,
  place: DomainsPlace,
  { tenantId, appId, id, host }: AppPlace & { id: string; host: string },
): Promise<void> {
  const app = await findAppById(parts, { id: appId });
  const evidence = await gatherEvidence(place, { host, subdomain: app?.subdomain ?? null });
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
