import type { Input } from '@svc/contract/endpoint.ts';
import { listAppAuditEntries, listAuditEntries } from '@svc/contract/tenants.ts';
import { askPages } from '../ask-pages.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../tenant.ts';

export interface AuditQuestion {
  /** Of the whole tenant when absent. */
  app: string | undefined;
  query: Input<NonNullable<typeof listAuditEntries.shape>>['query'];
  pages: 'one' | 'all';
}

export async function listEntries(ctx: Ctx, { app, query, pages }: AuditQuestion): Promise<unknown> {
  const tenantID = await resolveTenant(ctx);
  if (app === undefined)
    return askPages(ctx, { endpoint: listAuditEntries, input: { params: { tenantID }, query }, pages });
  const input = { params: { tenantID, app }, query };
  return askPages(ctx, { endpoint: listAppAuditEntries, input, pages });
}
