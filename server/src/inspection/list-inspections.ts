import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { ledgerRecord } from './rules.ts';
import { listLedgerRows } from './store.ts';

export async function listInspections(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listLedgerRows(ctx.db, ctx.tenant.id, ctx.app.id, windowOf(query));
  return pageAnswer(query, rows.map(ledgerRecord), total);
}
