import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { domainRecord } from './domain-record.ts';
import type { DomainsPlace } from './domains-place.ts';
import type { DomainRecord } from './rules.ts';
import { findDomainRow } from './store.ts';

export async function getDomain(
  ctx: AppCtx,
  { id }: { id: string },
  place: DomainsPlace,
): Promise<DomainRecord> {
  const row = await findDomainRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id);
  if (!row) throw fail('not_found');
  return domainRecord(row, { ...place, addresses: await place.addresses() });
}
