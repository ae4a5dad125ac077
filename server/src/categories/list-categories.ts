import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { categoryRecord } from './rules.ts';
import { listCategoryRows } from './store.ts';

export async function listCategories(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listCategoryRows(ctx.db, ctx.tenant.id, windowOf(query));
  return pageAnswer(query, rows.map(categoryRecord), total);
}
