import * as shapes from '@svc/contract/categories.shapes.ts';
import * as endpoints from '@svc/contract/categories.ts';
import { type Route, routes } from '../../http/router.ts';
import { createCategory, deleteCategory, getCategory, listCategories, updateCategory } from './categories.ts';

export const categoryRoutes: Route[] = routes(endpoints, shapes, {
  listCategories: (ctx, { query }) => listCategories(ctx, query),
  createCategory: (ctx, { body }) => createCategory(ctx, body),
  getCategory: (ctx, { params }) => getCategory(ctx, params.categoryID),
  updateCategory: (ctx, { params, body }) => updateCategory(ctx, { category: params.categoryID, set: body }),
  deleteCategory: (ctx, { params }) => deleteCategory(ctx, params.categoryID),
});
