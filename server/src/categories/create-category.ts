import type { createCategory as shape } from '@svc/contract/categories.shapes.ts';
import { categoriesPerTenantMax } from '@svc/contract/categories.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { refuseTakenSlug } from './refuse-taken-slug.ts';
import { categoryRecord, settingsOf } from './rules.ts';
import { type CategoryRow, countCategoryRows, insertCategoryRow, lockCategoriesOf } from './store.ts';

export async function createCategory(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw invalid('slug', 'can not be made from this name; give one');
  await lockCategoriesOf(ctx.db, ctx.tenant.id);
  await refuseTakenSlug(ctx, slug);
  if ((await countCategoryRows(ctx.db, ctx.tenant.id)) >= categoriesPerTenantMax) {
    throw fail('limit_reached', { detail: `A tenant has at most ${categoriesPerTenantMax} categories.` });
  }
  const row: CategoryRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    ...settingsOf({ ...input, slug }),
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertCategoryRow(ctx.db, row);
  ctx.audit({
    action: 'categories.create',
    target: { kind: 'category', id: row.id, name: slug },
    before: null,
    after: { ...settingsOf(row) },
  });
  return categoryRecord(row);
}
