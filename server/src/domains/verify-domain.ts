import { confirmApp } from '../apps/confirm-app.ts';
import { findAppById } from '../apps/find-app-by-id.ts';
import type { AppCtx, AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { domainRecord } from './domain-record.ts';
import type { DomainsPlace } from './domains-place.ts';
import { type Evidence, gatherEvidence } from './evidence.ts';
import { type DomainRecord, refuseArchived } from './rules.ts';
import { settleDomain } from './settle-domain.ts';
import { findDomainRow, lockDomainRow, lockHost } from './store.ts';

export interface Looked {
  host: string;
  evidence: Evidence;
}

/** Before the transaction: name servers may take seconds to answer, or not answer at all. */
export async function lookUpDomain(
  ctx: AppCtx,
  { id }: { id: string },
  place: DomainsPlace,
): Promise<Looked> {
  const row = await findDomainRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id);
  if (!row) throw fail('not_found');
  const app = await findAppById(ctx, { id: ctx.app.id });
  const evidence = await gatherEvidence(ctx.db, place, { host: row.host, subdomain: app?.subdomain ?? null });
  return { host: row.host, evidence };
}

export async function verifyDomain(
  ctx: AppMutationCtx,
  { id, looked }: { id: string; looked: Looked },
  place: DomainsPlace,
): Promise<DomainRecord> {
  await lockHost(ctx.db, looked.host);
  const row = await lockDomainRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id);
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  if (!row) throw fail('not_found');
  const { evidence } = looked;
  const settled = await settleDomain(ctx, row, { evidence, place, by: 'person' });
  return domainRecord(settled, { ...place, addresses: evidence.addresses });
}
