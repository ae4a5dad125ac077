import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { listLinkRows } from './link-store.ts';
import { accountRecord } from './rules.ts';

export async function listGitAccounts(ctx: TenantCtx, query: PageQuery) {
  const rows = await listLinkRows(ctx.db, { tenantId: ctx.tenant.id, userId: ctx.caller.userId });
  return pageOf(query, rows.map(accountRecord));
}
