import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { connectorRecord, listConnectorRows } from './store.ts';

export async function listConnectors(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listConnectorRows(ctx.db, ctx.tenant.id, windowOf(query));
  return pageAnswer(query, rows.map(connectorRecord), total);
}
