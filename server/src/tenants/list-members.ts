import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { memberRecord } from './rules.ts';
import { listMemberRows } from './store.ts';

export async function listMembers(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listMemberRows(ctx.db, ctx.tenant.id, windowOf(query));
  return pageAnswer(query, rows.map(memberRecord), total);
}
