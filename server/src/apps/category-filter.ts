import { findCategory } from '../categories/find-category.ts';
import type { TenantCtx } from '../plumbing/context.ts';

/** No app stands in a category that does not exist: then nothing is found, which is what was asked. */
export async function categoryFilter(
  ctx: Pick<TenantCtx, 'db' | 'tenant'>,
  ref: string | undefined,
): Promise<string | undefined> {
  if (ref === undefined) return undefined;
  return (await findCategory(ctx.db, ctx.tenant.id, { ref }))?.id ?? nowhere;
}

const nowhere = '00000000-0000-0000-0000-000000000000';
