import type { updateCategory as shape } from '@svc/contract/categories.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { refuseTakenSlug } from './refuse-taken-slug.ts';
import { type CategoryRecord, categoryRecord, settingsOf, withChanges } from './rules.ts';
import { lockCategoriesOf, lockCategoryRow, updateCategoryRow } from './store.ts';

export async function updateCategory(
  ctx: TenantMutationCtx,
  input: { category: string; set: z.output<typeof shape.body> },
): Promise<CategoryRecord & { changed?: false }> {
  await lockCategoriesOf(ctx.db, ctx.tenant.id);
  const row = await lockCategoryRow(ctx.db, ctx.tenant.id, input.category);
  if (!row) throw fail('not_found');
  const before = settingsOf(row);
  const after = withChanges(row, input.set);
  if (after.slug !== before.slug) await refuseTakenSlug(ctx, after.slug);
  ctx.audit({
    action: 'categories.update',
    target: { kind: 'category', id: row.id, name: row.slug },
    before: { ...before },
    after: { ...after },
  });
  if (isSame(before, after)) return { ...categoryRecord(row), changed: false };
  await updateCategoryRow(ctx.db, ctx.tenant.id, row.id, { ...after, updated_at: ctx.now });
  return categoryRecord({ ...row, ...after, updated_at: ctx.now });
}
