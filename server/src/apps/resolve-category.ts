import { holdCategory } from '../categories/find-category.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { invalid } from '../plumbing/problem.ts';

/** The id of the category that an id or a slug names. */
export async function resolveCategory(
  ctx: Pick<TenantMutationCtx, 'db' | 'tenant'>,
  field: 'category' | 'category_id',
  ref: string | null,
): Promise<string | null> {
  if (ref === null) return null;
  const category = await holdCategory(ctx.db, ctx.tenant.id, { ref });
  if (!category) throw invalid(field, 'is no category of this tenant', 'unknown_category');
  return category.id;
}
