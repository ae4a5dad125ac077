import type * as shapes from './categories.shapes.ts';
import { admins, anyMember, change, read, remove, update } from './endpoint.ts';
import { readsPerMinuteMax } from './limits.ts';

export const categoriesPerTenantMax = 500;
export const categoryNameCharsMax = 100;
export const categoryDescriptionCharsMax = 1_000;
export const colorPattern = /^#[0-9a-f]{6}$/;
/** Range of PostgreSQL's `int`. */
export const displayOrderMin = -2_147_483_648;
export const displayOrderMax = 2_147_483_647;

const collection = '/api/v1/tenants/{tenantID}/categories';
const one = `${collection}/{categoryID}`;

export const listCategories = read<typeof shapes.listCategories>()({
  id: 'categories.list',
  path: collection,
  summary: 'List the app categories, by display order and name',
  ...anyMember,
  perMinuteMax: readsPerMinuteMax,
});

export const createCategory = change<typeof shapes.createCategory>()({
  id: 'categories.create',
  path: collection,
  summary: 'Create a category',
  ...admins,
  errors: ['unique_violation', 'limit_reached'],
});

export const getCategory = read<typeof shapes.getCategory>()({
  id: 'categories.get',
  path: one,
  summary: 'Get a category',
  ...anyMember,
  perMinuteMax: readsPerMinuteMax,
});

export const updateCategory = update<typeof shapes.updateCategory>()({
  id: 'categories.update',
  path: one,
  summary: 'Update a category',
  ...admins,
  errors: ['unique_violation'],
});

export const deleteCategory = remove<typeof shapes.deleteCategory>()({
  id: 'categories.delete',
  path: one,
  summary: 'Delete a category; its apps are left without one',
  ...admins,
  irreversible: true,
});
