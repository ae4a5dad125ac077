import { randomBytes } from 'node:crypto';
import { domainsPerAppMax } from '@svc/contract/domains.ts';
import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { domainRecord } from './domain-record.ts';
import type { DomainsPlace } from './domains-place.ts';
import { judgeCertificate, notChecked, ownershipExpected, routingExpected } from './judge-checks.ts';
import { parseHost, refuseReserved } from './parse-host.ts';
import { type DomainRecord, refuseArchived } from './rules.ts';
import { pendingIntervalMs } from './schedule.ts';
import { insertDomainRow, listDomainRows } from './store.ts';

/** It waits; that another app waits for the same host, or has it, is not to be seen here. */
export async function addDomain(
  ctx: AppMutationCtx,
  input: { host: string },
  place: DomainsPlace,
  addresses: readonly string[],
): Promise<DomainRecord> {
  const host = parseHost(input.host);
  refuseReserved(host, place);
  const app = await holdApp(ctx, { wanted: 'owners' });
  refuseArchived(app);
  const attached = await listDomainRows(ctx.db, { tenantId: ctx.tenant.id, appId: app.id });
  if (attached.some((row) => row.host === host))
    throw fail('already_attached', { detail: `${host} is attached to the app already.` });
  if (attached.length >= domainsPerAppMax)
    throw fail('limit_reached', { detail: `An app has at most ${domainsPerAppMax} domains.` });
  const token = randomBytes(20).toString('hex');
  const checks = {
    ownership: notChecked(ownershipExpected({ host, token })),
    routing: notChecked(routingExpected(host, place.target, addresses)),
  };
  const state = place.certificates.isOn ? ({ state: 'waiting' } as const) : null;
  const row = await insertDomainRow(ctx.db, {
    ...{
      id: ctx.newId(),
      app_id: app.id,
      tenant_id: ctx.tenant.id,
      host,
      token,
      status: 'pending',
      ...checks,
    },
    certificate: judgeCertificate({ caa: null }, { host, checks, state, caaId: place.caaId }),
    ...{ created_by: ctx.caller.userId, created_at: ctx.now, pending_since: ctx.now, tries: 0 },
    next_check_at: new Date(ctx.now.getTime() + pendingIntervalMs(0)),
    ...{ verified_at: null, last_checked_at: null, checking_until: null, wrong_since: null, wrong_checks: 0 },
    ...{ disconnected_at: null, disconnected_for: null, is_loss_untold: false },
  });
  if (!row) throw fail('already_attached', { detail: `${host} is attached to the app already.` });
  ctx.audit({
    action: 'domains.add',
    appId: app.id,
    target: { kind: 'domain', id: row.id, name: host },
    before: null,
    after: { host, status: row.status },
  });
  return domainRecord(row, { ...place, addresses });
}
