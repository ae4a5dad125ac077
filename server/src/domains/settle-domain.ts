import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { orderTopic } from './domain-certificates.ts';
import type { DomainsPlace } from './domains-place.ts';
import type { Evidence } from './evidence.ts';
import {
  type Checks,
  challengeValue,
  isForbidden,
  judgeCertificate,
  judgeOwnership,
  judgeRouting,
} from './judge-checks.ts';
import { domainsTag } from './list-active-hosts.ts';
import { disconnected, type Looked, moveDomain } from './schedule.ts';
import { type Check, type DomainRow, lockActiveRow, saveDomainRow } from './store.ts';
import { tellLossTopic } from './tell-loss.ts';
import { tellOfDisconnection, tellOfFailing } from './tell-owners.ts';

/** A domain under its lock and that of its host, by what its name servers said. */
export async function settleDomain(
  ctx: MutationCtx,
  row: DomainRow,
  { evidence, place, by }: { evidence: Evidence; place: DomainsPlace; by: Looked['by'] },
): Promise<DomainRow> {
  const { certificates, caaId } = place;
  const found = { ownership: judgeOwnership(evidence, row), routing: judgeRouting(evidence, row) };
  const isRouteKnown = evidence.route.addresses.kind !== 'unknown';
  const isAllKnown = isRouteKnown && evidence.txt.kind !== 'unknown';
  const isProved = isAllKnown && found.ownership.state === 'ok' && found.routing.state === 'ok';
  const holder = isProved && row.status !== 'active' ? await lockActiveRow(ctx.db, row.host) : undefined;
  const isHeld = holder !== undefined && isStillProved(holder, evidence);
  // A person is told at once; the clock has nobody to tell.
  if (isHeld && by === 'person')
    throw fail('host_active_elsewhere', { detail: `${row.host}: ${heldText(holder)}` });
  const app = { tenantId: row.tenant_id, appId: row.app_id };
  if (isProved && !isHeld && isOutdated(evidence, row, holder)) {
    if (by === 'person') throw fail('unavailable', { detail: outdatedText, headers: { 'retry-after': '1' } });
    // Still due: it is looked at again.
    return saveDomainRow(ctx.db, app, row.id, { checking_until: null });
  }
  const checks: Checks = isHeld ? { ...found, ownership: held(found.ownership, holder) } : found;
  const state = certificates.isOn ? await certificates.stateOf(ctx.db, row) : null;
  const certificate = judgeCertificate(evidence, { host: row.host, checks, state, caaId });
  const isKnown = row.status === 'active' ? isRouteKnown : isAllKnown;
  const move = moveDomain(row, { ...checks, certificate, isKnown, now: ctx.now, by });
  const mayOrder = isProved && !isHeld && !isForbidden(evidence, caaId);
  if (mayOrder && isToOrder(row.certificate, certificate, by)) ctx.enqueue(orderTopic, { domainId: row.id });
  if (holder && move.status === 'active') await takeFrom(ctx, holder);
  const saved = await saveDomainRow(ctx.db, app, row.id, {
    ...{ ...checks, certificate, ...move },
    ...{ last_checked_at: ctx.now, checking_until: null, is_loss_untold: false },
  });
  // What one that waits still lacks, the clock finds out again and again.
  const isNews = by === 'person' || row.status === 'active' || saved.status !== row.status;
  if (isNews) auditCheck(ctx, row, saved);
  await tellOfTurn(ctx, row, saved);
  if (saved.status !== row.status) {
    ctx.changed(domainsTag);
    ctx.changed(appTag(row.app_id));
  }
  return saved;
}

/** Before it is disconnected, and when it is. */
async function tellOfTurn(ctx: MutationCtx, row: DomainRow, saved: DomainRow): Promise<void> {
  const { disconnected_for: why } = saved;
  if (saved.status === 'disconnected' && why !== null && row.status !== 'disconnected')
    await tellOfDisconnection(ctx, { ...saved, why });
  else if (row.status === 'active' && row.wrong_checks === 0 && saved.wrong_checks > 0)
    await tellOfFailing(ctx, saved);
}

function auditCheck(ctx: MutationCtx, row: DomainRow, saved: DomainRow): void {
  ctx.audit({
    action: 'domains.verify',
    appId: row.app_id,
    target: { kind: 'domain', id: row.id, name: row.host },
    before: audited(row),
    after: audited(saved),
  });
}

/** Once; and once more when somebody asks although it failed. */
function isToOrder(before: Check, now: Check, by: Looked['by']): boolean {
  if (now.reason === 'ordered') return before.reason !== 'ordered';
  return now.state === 'failed' && by === 'person';
}

const outdatedText = 'Whose host it is was settled while its name servers were asked; verify it again.';

/** Nobody gets a host by what was so before it came to whoever has it, or before this one lost it. */
function isOutdated({ begunAt }: Evidence, row: DomainRow, holder: DomainRow | undefined): boolean {
  if (row.status === 'active') return false;
  return [row.pending_since, row.disconnected_at, holder?.verified_at].some((at) => at && at >= begunAt);
}

/** Whose own proof is no longer published has given the host up. Where nobody can say, nobody loses anything. */
function isStillProved(holder: DomainRow, { txt }: Evidence): boolean {
  return txt.kind !== 'found' || txt.values.includes(challengeValue(holder));
}

/** What an owner can see, of an app that may be anybody's: whoever hears this has proved that the host is theirs. */
function heldText(holder: DomainRow): string {
  return `another app has it, and its record ${challengeValue(holder)} is still published.`;
}

function held(ownership: Check, holder: DomainRow): Check {
  return {
    ...ownership,
    ...{ state: 'failed', reason: 'active_elsewhere' },
    next_step: `Remove the other TXT record, ${challengeValue(holder)}: ${heldText(holder)}`,
  };
}

/** It may be another tenant's: its own audit hears of it from an effect. */
async function takeFrom(ctx: MutationCtx, holder: DomainRow): Promise<void> {
  const { id, tenant_id: tenantId, app_id: appId, host } = holder;
  await saveDomainRow(ctx.db, { tenantId, appId }, id, {
    ...disconnected(ctx.now, 'claimed_elsewhere'),
    is_loss_untold: true,
  });
  ctx.enqueue(tellLossTopic, { tenantId, appId, domainId: id, host });
  ctx.changed(appTag(appId));
}

/** One word each: what was found there, others can say, and it may be long. */
function audited({ status, disconnected_for, ownership, routing, certificate }: DomainRow) {
  const word = ({ state, reason }: Check) => (reason === null ? state : `${state} (${reason})`);
  return {
    ...{ status, disconnected_for },
    ...{ ownership: word(ownership), routing: word(routing), certificate: word(certificate) },
  };
}
