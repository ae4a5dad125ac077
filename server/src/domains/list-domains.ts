import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { domainRecord } from './domain-record.ts';
import type { DomainsPlace } from './domains-place.ts';
import { listDomainRows } from './store.ts';

export async function listDomains(ctx: AppCtx, query: PageQuery, place: DomainsPlace) {
  const rows = await listDomainRows(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id });
  const addresses = rows.length === 0 ? [] : await place.addresses();
  const page = pageOf(query, rows);
  return { ...page, items: page.items.map((row) => domainRecord(row, { ...place, addresses })) };
}
