import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findCategoryRow } from './store.ts';

export async function refuseTakenSlug(ctx: TenantMutationCtx, slug: string): Promise<void> {
  if (!(await findCategoryRow(ctx.db, ctx.tenant.id, slug))) return;
  throw fail('unique_violation', {
    detail: `A category ${slug} exists already.`,
    errors: [{ field: 'slug', code: 'unique_violation', detail: 'is in use' }],
  });
}
