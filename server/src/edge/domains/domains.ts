import { randomBytes } from 'node:crypto';
import { domainsPerAppMax } from '@svc/contract/domains.ts';
import { lockAppFor, recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { finishCheck } from './check-domains.ts';
import {
  type DomainRecord,
  type DomainsConfig,
  domainRecord,
  domainsTag,
  refuseArchived,
} from './domain-record.ts';
import {
  type Evidence,
  evaluateCertificate,
  gatherEvidence,
  ownershipExpected,
  pendingCheck,
  routingExpected,
} from './evaluate-checks.ts';
import { parseHost, refuseReserved } from './host-names.ts';
import { pendingIntervalMs } from './schedule.ts';
import {
  deleteDomainRow,
  findDomainRow,
  insertDomainRow,
  listDomainRows,
  lockDomainRow,
  lockHost,
} from './store.ts';

export { type ActiveHost, checkSoon, findDomainToCertify, listActiveHosts } from './store.ts';

export async function listDomains(ctx: AppCtx, query: PageQuery, config: DomainsConfig) {
  const rows = await listDomainRows(ctx.db, appRef(ctx));
  const addresses = rows.length === 0 ? [] : await config.addresses();
  const page = paginate(query, rows);
  return { ...page, items: page.items.map((row) => domainRecord(row, { ...config, addresses })) };
}

export async function getDomain(ctx: AppCtx, id: string, config: DomainsConfig): Promise<DomainRecord> {
  const row = orNotFound(await findDomainRow(ctx.db, appRef(ctx), id));
  return domainRecord(row, { ...config, addresses: await config.addresses() });
}

/** The result does not reveal whether another app has or requests the same host. */
export async function addDomain(
  ctx: AppMutationCtx,
  input: { host: string },
  config: DomainsConfig,
  addresses: readonly string[],
): Promise<DomainRecord> {
  const host = parseHost(input.host);
  refuseReserved(host, config);
  const app = await lockAppFor(ctx, { required: 'owners' });
  refuseArchived(app);
  const attached = await listDomainRows(ctx.db, appRef(ctx));
  const attachedError = fail('already_attached', { detail: `${host} is attached to the app already.` });
  if (attached.some((row) => row.host === host)) throw attachedError;
  if (attached.length >= domainsPerAppMax)
    throw fail('limit_reached', { detail: `An app has at most ${domainsPerAppMax} domains.` });
  const token = randomBytes(20).toString('hex');
  const checks = {
    ownership: pendingCheck(ownershipExpected({ host, token })),
    routing: pendingCheck(routingExpected(host, config.target, addresses)),
  };
  const state = config.certificates.isOn ? ({ state: 'waiting' } as const) : null;
  const row = await insertDomainRow(ctx.db, {
    id: ctx.newId(),
    app_id: app.id,
    tenant_id: ctx.tenant.id,
    host,
    token,
    status: 'pending',
    ...checks,
    certificate: evaluateCertificate({ caa: null }, { host, checks, state, caaId: config.caaId }),
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    pending_since: ctx.now,
    next_check_at: new Date(ctx.now.getTime() + pendingIntervalMs(0)),
    tries: 0,
    wrong_checks: 0,
    is_loss_untold: false,
  });
  if (!row) throw attachedError;
  ctx.audit({
    action: 'domains.add',
    appId: app.id,
    target: { kind: 'domain', id: row.id, name: host },
    before: null,
    after: { host, status: row.status },
  });
  return domainRecord(row, { ...config, addresses });
}

export interface DomainLookup {
  host: string;
  evidence: Evidence;
}

/** Runs before the transaction, because name servers may take seconds to answer. */
export async function lookUpDomain(ctx: AppCtx, id: string, config: DomainsConfig): Promise<DomainLookup> {
  const { host } = orNotFound(await findDomainRow(ctx.db, appRef(ctx), id));
  return { host, evidence: await gatherEvidence(ctx, config, { host, appId: ctx.app.id }) };
}

export async function verifyDomain(
  ctx: AppMutationCtx,
  { id, lookup }: { id: string; lookup: DomainLookup },
  config: DomainsConfig,
): Promise<DomainRecord> {
  const { host, evidence } = lookup;
  await lockHost(ctx.db, host);
  const row = await lockDomainRow(ctx.db, appRef(ctx), id);
  refuseArchived(await recheckApp(ctx, { required: 'owners' }));
  const saved = await finishCheck(ctx, orNotFound(row), { evidence, config, by: 'person' });
  return domainRecord(saved, { ...config, addresses: evidence.addresses });
}

/** The certificate is deleted with the row. A host that is added again gets a new token. */
export async function removeDomain(ctx: AppMutationCtx, id: string): Promise<undefined> {
  const app = appRef(ctx);
  const found = await lockDomainRow(ctx.db, app, id);
  await recheckApp(ctx, { required: 'owners_or_admin' });
  // Not idempotent by specification (exit code 5), so that scripts can distinguish "gone" from "failed".
  const row = orNotFound(found);
  await deleteDomainRow(ctx.db, app, row.id);
  ctx.audit({
    action: 'domains.remove',
    appId: ctx.app.id,
    target: { kind: 'domain', id: row.id, name: row.host },
    before: { host: row.host, status: row.status },
    after: null,
  });
  if (row.status === 'active') ctx.warn(`${row.host} is no longer served.`);
  ctx.invalidate(domainsTag);
  ctx.invalidate(appTag(ctx.app.id));
}

/** Runs when an app is deleted. Restoring the app does not restore them: another app may have the hosts by then. */
export async function detachDomains(ctx: MutationCtx, app: AppRef): Promise<{ hosts: string[] }> {
  const rows = await listDomainRows(ctx.db, app);
  for (const { id } of rows) await deleteDomainRow(ctx.db, app, id);
  if (rows.length > 0) {
    ctx.invalidate(domainsTag);
    ctx.invalidate(appTag(app.appId));
  }
  return { hosts: rows.map(({ host }) => host) };
}
