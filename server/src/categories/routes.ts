import * as shapes from '@svc/contract/categories.shapes.ts';
import * as endpoints from '@svc/contract/categories.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createCategory } from './create-category.ts';
import { deleteCategory } from './delete-category.ts';
import { getCategory } from './get-category.ts';
import { listCategories } from './list-categories.ts';
import { updateCategory } from './update-category.ts';

export const categoryRoutes: Route[] = [
  route(endpoints.listCategories, shapes.listCategories, (ctx, { query }) => listCategories(ctx, query)),
  route(endpoints.createCategory, shapes.createCategory, (ctx, { body }) => createCategory(ctx, body)),
  route(endpoints.getCategory, shapes.getCategory, (ctx, { params }) =>
    getCategory(ctx, { category: params.categoryID }),
  ),
  route(endpoints.updateCategory, shapes.updateCategory, (ctx, { params, body }) =>
    updateCategory(ctx, { category: params.categoryID, set: body }),
  ),
  route(endpoints.deleteCategory, shapes.deleteCategory, (ctx, { params }) =>
    deleteCategory(ctx, { category: params.categoryID }),
  ),
];
