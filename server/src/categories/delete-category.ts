import { countAppsInCategory } from '../apps/count-apps-in-category.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appsAtOnceMax, lossOf, settingsOf } from './rules.ts';
import { deleteCategoryRow, hideCategoryRow, lockCategoryRow } from './store.ts';

/** Apps outlive their category. How many stand in none afterwards is told before, and written down. */
export async function deleteCategory(
  ctx: TenantMutationCtx,
  input: { category: string },
): Promise<undefined> {
  const row = await lockCategoryRow(ctx.db, ctx.tenant.id, input.category);
  if (!row) throw fail('not_found');
  const apps = await countAppsInCategory(ctx.db, ctx.tenant.id, { categoryId: row.id });
  if (apps > 0) ctx.warn(lossOf(apps));
  if (apps <= appsAtOnceMax) await deleteCategoryRow(ctx.db, ctx.tenant.id, row.id);
  else {
    await hideCategoryRow(ctx.db, ctx.tenant.id, { id: row.id, now: ctx.now });
    ctx.enqueue('categories.detach', { tenantId: ctx.tenant.id, categoryId: row.id });
  }
  ctx.audit({
    action: 'categories.delete',
    target: { kind: 'category', id: row.id, name: row.slug },
    before: { ...settingsOf(row), apps },
    after: null,
  });
}
