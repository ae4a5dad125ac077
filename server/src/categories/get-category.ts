import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { categoryRecord } from './rules.ts';
import { findCategoryRow } from './store.ts';

export async function getCategory(ctx: TenantCtx, input: { category: string }) {
  const row = await findCategoryRow(ctx.db, ctx.tenant.id, input.category);
  if (!row) throw fail('not_found');
  return categoryRecord(row);
}
