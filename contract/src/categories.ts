import type * as shapes from './categories.shapes.ts';
import { endpoint, who } from './endpoint.ts';
import { readsPerMinuteMax } from './limits.ts';

export const categoriesPerTenantMax = 500;
export const categoryNameCharsMax = 100;
export const categoryDescriptionCharsMax = 1_000;
export const colorPattern = /^#[0-9a-f]{6}$/;
/** Any that PostgreSQL's `int` holds. */
export const displayOrderMin = -2_147_483_648;
export const displayOrderMax = 2_147_483_647;

const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const admin = { credential: 'login', role: 'tenant_admin', outsider: 'not_found' } as const;
const everyMember = who('O:y C:y A:y M:y P:n N:n X:n');
const adminsOnly = who('O:n C:n A:y M:n P:n N:n X:n');
const collection = '/api/v1/tenants/{tenantID}/categories';
const one = `${collection}/{categoryID}`;

export const listCategories = endpoint<typeof shapes.listCategories>()({
  id: 'categories.list',
  method: 'GET',
  path: collection,
  summary: 'The categories that apps may stand in, by display order and name',
  kind: 'read',
  authority: member,
  who: everyMember,
  status: 200,
  perMinuteMax: readsPerMinuteMax,
});

export const createCategory = endpoint<typeof shapes.createCategory>()({
  id: 'categories.create',
  method: 'POST',
  path: collection,
  summary: 'Create a category',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 201,
  errors: ['unique_violation', 'limit_reached'],
});

export const getCategory = endpoint<typeof shapes.getCategory>()({
  id: 'categories.get',
  method: 'GET',
  path: one,
  summary: 'One category',
  kind: 'read',
  authority: member,
  who: everyMember,
  status: 200,
  perMinuteMax: readsPerMinuteMax,
  errors: ['not_found'],
});

export const updateCategory = endpoint<typeof shapes.updateCategory>()({
  id: 'categories.update',
  method: 'PATCH',
  path: one,
  summary: 'Change a category',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'unique_violation'],
});

export const deleteCategory = endpoint<typeof shapes.deleteCategory>()({
  id: 'categories.delete',
  method: 'DELETE',
  path: one,
  summary: 'Delete a category; apps in it stand in none then',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 204,
  errors: ['not_found'],
  irreversible: true,
});
