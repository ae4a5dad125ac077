import type {
  Category,
  createCategory as shape,
  updateCategory as updateCategoryShape,
} from '@svc/contract/categories.shapes.ts';
import { categoriesPerTenantMax } from '@svc/contract/categories.ts';
import { uploadedIcon } from '@svc/contract/icons.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import {
  type CategoryRow,
  countAppsInCategory,
  countCategoryRows,
  deleteCategoryRow,
  findCategoryRow,
  hideCategoryRow,
  insertCategoryRow,
  listCategoryRows,
  lockCategoryRow,
  lockTenantCategories,
  updateCategoryRow,
} from './store.ts';

export type CategoryRecord = z.output<typeof Category>;
type CategorySettings = Pick<
  CategoryRow,
  'slug' | 'name' | 'description' | 'color' | 'icon_url' | 'display_order'
>;

function categorySettings(row: CategorySettings): CategorySettings {
  const { slug, name, description, color, icon_url, display_order } = row;
  return { slug, name, description, color, icon_url, display_order };
}

export const detachBatchMax = 500;

export function detachWarning(apps: number): string {
  return apps === 1 ? '1 app will have no category.' : `${apps} apps will have no category.`;
}

function categoryRecord(row: CategoryRow): CategoryRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    ...categorySettings(row),
    icon_url: uploadedIcon(row.icon_url) ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function listCategories(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listCategoryRows(ctx.db, ctx.tenant.id, pageWindow(query));
  return toPage(query, rows.map(categoryRecord), total);
}

export async function getCategory(ctx: TenantCtx, category: string) {
  const row = orNotFound(await findCategoryRow(ctx.db, ctx.tenant.id, category));
  return categoryRecord(row);
}

export async function createCategory(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw validationError('slug', 'cannot be derived from this name; specify one');
  await lockTenantCategories(ctx.db, ctx.tenant.id);
  await requireUnusedSlug(ctx, slug);
  if ((await countCategoryRows(ctx.db, ctx.tenant.id)) >= categoriesPerTenantMax) {
    throw fail('limit_reached', { detail: `A tenant has at most ${categoriesPerTenantMax} categories.` });
  }
  const row: CategoryRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    ...categorySettings({ ...input, slug }),
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertCategoryRow(ctx.db, row);
  ctx.audit({
    action: 'categories.create',
    target: { kind: 'category', id: row.id, name: slug },
    before: null,
    after: { ...categorySettings(row) },
  });
  return categoryRecord(row);
}

export async function updateCategory(
  ctx: TenantMutationCtx,
  input: { category: string; set: z.output<typeof updateCategoryShape.body> },
): Promise<CategoryRecord & { changed?: false }> {
  await lockTenantCategories(ctx.db, ctx.tenant.id);
  const row = orNotFound(await lockCategoryRow(ctx.db, ctx.tenant.id, input.category));
  const before = categorySettings(row);
  const after = { ...before, ...input.set };
  if (after.slug !== before.slug) await requireUnusedSlug(ctx, after.slug);
  ctx.audit({
    action: 'categories.update',
    target: { kind: 'category', id: row.id, name: row.slug },
    before: { ...before },
    after: { ...after },
  });
  if (isDeepEqual(before, after)) return { ...categoryRecord(row), changed: false };
  await updateCategoryRow(ctx.db, ctx.tenant.id, row.id, { ...after, updated_at: ctx.now });
  return categoryRecord({ ...row, ...after, updated_at: ctx.now });
}

export async function deleteCategory(ctx: TenantMutationCtx, category: string): Promise<undefined> {
  const row = orNotFound(await lockCategoryRow(ctx.db, ctx.tenant.id, category));
  const apps = await countAppsInCategory(ctx.db, ctx.tenant.id, row.id);
  if (apps > 0) ctx.warn(detachWarning(apps));
  if (apps <= detachBatchMax) await deleteCategoryRow(ctx.db, ctx.tenant.id, row.id);
  else {
    await hideCategoryRow(ctx.db, ctx.tenant.id, { id: row.id, now: ctx.now });
    ctx.enqueue('categories.detach', { tenantId: ctx.tenant.id, categoryId: row.id });
  }
  ctx.audit({
    action: 'categories.delete',
    target: { kind: 'category', id: row.id, name: row.slug },
    before: { ...categorySettings(row), apps },
    after: null,
  });
}

async function requireUnusedSlug(ctx: TenantMutationCtx, slug: string): Promise<void> {
  if (!(await findCategoryRow(ctx.db, ctx.tenant.id, slug))) return;
  throw fail('unique_violation', {
    detail: `A category ${slug} already exists.`,
    errors: [{ field: 'slug', code: 'unique_violation', detail: 'is in use' }],
  });
}

export {
  deleteHiddenCategory,
  findCategoryRow as findCategory,
  isCategoryHidden,
  listCategoryIconIds,
  lockCategoryForShare,
} from './store.ts';

export const currentCategory = sql<string | null>`(
  select c.id from svc.categories c where c.id = apps.category_id and c.deleted_at is null)`;
