import type { AppRef, MutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { type DomainsConfig, domainsTag, orderTopic } from './domain-record.ts';
import {
  type Checks,
  challengeValue,
  type Evidence,
  evaluateCertificate,
  evaluateOwnership,
  evaluateRouting,
  gatherEvidence,
  isIssuanceForbidden,
} from './evaluate-checks.ts';
import { lossTopic, notifyDisconnection, notifyFailing } from './notify-owners.ts';
import { type CheckOutcome, disconnect, transition } from './schedule.ts';
import {
  type Check,
  claimDueRow,
  type DomainRow,
  lockActiveRow,
  lockDomainRow,
  lockHost,
  saveDomainRow,
} from './store.ts';

/** Evaluates the DNS results and saves the outcome. Caller must hold the locks of the host and of the domain row. */
export async function finishCheck(
  ctx: MutationCtx,
  row: DomainRow,
  { evidence, config, by }: { evidence: Evidence; config: DomainsConfig; by: CheckOutcome['by'] },
): Promise<DomainRow> {
  const { certificates, caaId } = config;
  const found = { ownership: evaluateOwnership(evidence, row), routing: evaluateRouting(evidence, row) };
  const isRouteKnown = evidence.route.addresses.kind !== 'unknown';
  const isAllKnown = isRouteKnown && evidence.txt.kind !== 'unknown';
  const isProved = isAllKnown && found.ownership.state === 'ok' && found.routing.state === 'ok';
  const holder = isProved && row.status !== 'active' ? await lockActiveRow(ctx.db, row.host) : undefined;
  const isTaken = holder !== undefined && isStillProved(holder, evidence);
  if (isTaken && by === 'person')
    throw fail('host_active_elsewhere', { detail: `${row.host}: ${ownedText(holder)}` });
  const app = { tenantId: row.tenant_id, appId: row.app_id };
  if (isProved && !isTaken && isOutdated(evidence, row, holder)) {
    if (by === 'person') throw fail('unavailable', { detail: outdatedText, headers: { 'retry-after': '1' } });
    // Still due: the next run checks it again.
    return saveDomainRow(ctx.db, app, row.id, { checking_until: null });
  }
  const checks: Checks = isTaken ? { ...found, ownership: ownedElsewhere(found.ownership, holder) } : found;
  const state = certificates.isOn ? await certificates.stateOf(ctx.db, row) : null;
  const certificate = evaluateCertificate(evidence, { host: row.host, checks, state, caaId });
  const isKnown = row.status === 'active' ? isRouteKnown : isAllKnown;
  const move = transition(row, { ...checks, certificate, isKnown, now: ctx.now, by });
  const mayOrder = isProved && !isTaken && !isIssuanceForbidden(evidence, caaId);
  if (mayOrder && isToOrder(row.certificate, certificate, by)) ctx.enqueue(orderTopic, { domainId: row.id });
  if (holder && move.status === 'active') await disconnectHolder(ctx, holder);
  const saved = await saveDomainRow(ctx.db, app, row.id, {
    ...checks,
    certificate,
    ...move,
    last_checked_at: ctx.now,
    checking_until: null,
    is_loss_untold: false,
  });
  // Repeated checks of a pending domain by the clock are not audited.
  const isNews = by === 'person' || row.status === 'active' || saved.status !== row.status;
  if (isNews) auditCheck(ctx, row, saved);
  await notifyChange(ctx, row, saved);
  if (saved.status !== row.status) {
    ctx.invalidate(domainsTag);
    ctx.invalidate(appTag(row.app_id));
  }
  return saved;
}

async function notifyChange(ctx: MutationCtx, row: DomainRow, saved: DomainRow): Promise<void> {
  const { disconnected_for: why } = saved;
  if (saved.status === 'disconnected' && why !== null && row.status !== 'disconnected')
    await notifyDisconnection(ctx, { ...saved, why });
  else if (row.status === 'active' && row.wrong_checks === 0 && saved.wrong_checks > 0)
    await notifyFailing(ctx, saved);
}

function auditCheck(ctx: MutationCtx, row: DomainRow, saved: DomainRow): void {
  ctx.audit({
    action: 'domains.verify',
    appId: row.app_id,
    target: { kind: 'domain', id: row.id, name: row.host },
    before: auditState(row),
    after: auditState(saved),
  });
}

function isToOrder(before: Check, now: Check, by: CheckOutcome['by']): boolean {
  if (now.reason === 'ordered') return before.reason !== 'ordered';
  return now.state === 'failed' && by === 'person';
}

const outdatedText = 'Another check of this host finished during the lookup. Verify the domain again.';

/** The lookup must be newer than the holder's verification and than this domain's own loss of the host. */
function isOutdated({ startedAt }: Evidence, row: DomainRow, holder: DomainRow | undefined): boolean {
  if (row.status === 'active') return false;
  return [row.pending_since, row.disconnected_at, holder?.verified_at].some((at) => at && at >= startedAt);
}

/** A holder whose TXT record is gone has given up the host. If the lookup failed, the holder keeps it. */
function isStillProved(holder: DomainRow, { txt }: Evidence): boolean {
  return txt.kind !== 'found' || txt.values.includes(challengeValue(holder));
}

/** Reveals the holder's token only to a caller who has proved ownership of the host. */
function ownedText(holder: DomainRow): string {
  return `another app uses it, and its TXT record ${challengeValue(holder)} is still published.`;
}

function ownedElsewhere(ownership: Check, holder: DomainRow): Check {
  return {
    ...ownership,
    state: 'failed',
    reason: 'active_elsewhere',
    next_step: `Remove the other TXT record, ${challengeValue(holder)}: ${ownedText(holder)}`,
  };
}

/** The holder may be in another tenant: an effect writes the audit entry there. */
async function disconnectHolder(ctx: MutationCtx, holder: DomainRow): Promise<void> {
  const { id, tenant_id: tenantId, app_id: appId, host } = holder;
  await saveDomainRow(ctx.db, { tenantId, appId }, id, {
    ...disconnect(ctx.now, 'claimed_elsewhere'),
    is_loss_untold: true,
  });
  ctx.enqueue(lossTopic, { tenantId, appId, domainId: id, host });
  ctx.invalidate(appTag(appId));
}

/** Without the DNS values, which others control and which may be long. */
function auditState({ status, disconnected_for, ownership, routing, certificate }: DomainRow) {
  const word = ({ state, reason }: Check) => (reason === null ? state : `${state} (${reason})`);
  return {
    status,
    disconnected_for,
    ownership: word(ownership),
    routing: word(routing),
    certificate: word(certificate),
  };
}

const concurrentMax = 8;
/** Slow name servers of one tenant must not delay the others. */
const perTenantMax = 2;
const leaseSeconds = 120;
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
  await runAsOperator(deps, { name: 'domains.check', auditTenantId: tenantId }, async (ctx) => {
    await lockHost(ctx.db, host);
    const row = await lockDomainRow(ctx.db, { tenantId, appId }, id);
    if (!row || row.status === 'disconnected') return;
    const saved = await finishCheck(ctx, row, { evidence, config, by: 'clock' });
    const { status, ownership, routing, disconnected_for: why } = saved;
    const about = { tenant: tenantId, app: appId, host };
    if (status === 'disconnected') deps.log.warn({ ...about, why }, 'domain disconnected');
    else if (row.status === 'active' && row.wrong_checks === 0 && saved.wrong_checks > 0)
      deps.log.warn({ ...about, ownership, routing }, 'active domain has wrong records');
  });
}
